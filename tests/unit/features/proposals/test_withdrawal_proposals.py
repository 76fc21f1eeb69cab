"""Withdrawals of versions that another person has to approve."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from lakegate.aws.wiring import StsIdentity, SystemClock
from lakegate.base.errors import InputError
from lakegate.features.proposals.proposal import propose_withdrawal
from lakegate.gate.effects import run
from lakegate.gate.registry.registry_store import Registry
from tests.fakes.identity import ALICE, BOB
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.contracts.test_withdraw_command import refusal
from tests.unit.features.proposals.test_proposals_command import signed_in  # noqa: F401 - a fixture


def test_a_version_that_is_not_published_is_not_proposed_for_withdrawal(lakegate: Lakegate) -> None:
    """Who calls without the command gets its error, and leaves no proposal."""
    lakegate.ok("publish", lakegate.contract("1.0.0"))
    there = lakegate.dependencies
    with pytest.raises(InputError, match=r"^shop has no version 1\.1\.0: `lakegate contracts` lists those"):
        run(propose_withdrawal(there, "shop", "1.1.0"), there.clock)

    assert there.registry.proposal("shop", "1.1.0") is None


def publish_two_versions(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:  # noqa: F811 - of the fixture
    """Alice proposes each version, Bob approves it; Alice is signed in afterwards."""
    for version in ("1.0.0", "1.1.0"):
        lakegate.ok("publish", lakegate.contract(version))
        signed_in(BOB)
        lakegate.ok("approve", f"shop@{version}", "--yes")
        signed_in(ALICE)


def test_a_withdrawal_needs_the_approval_that_publishing_needs(
    lakegate: Lakegate,
    signed_in: Callable[[str], None],  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice is once. The proposer cannot approve it, nor can anybody after it has expired or the contract was changed."""
    publish_two_versions(lakegate, signed_in)
    proposed, again = (lakegate.ok("withdraw", "shop@1.1.0") for _ in range(2))
    monkeypatch.setattr(StsIdentity, "caller", lambda _: ALICE)
    own = refusal(lakegate, "approve", "shop@1.1.0", "--yes")
    signed_in(BOB)
    asked = refusal(lakegate, "approve", "shop@1.1.0")
    now = SystemClock().now()
    with monkeypatch.context() as later:
        later.setattr(SystemClock, "now", lambda _: now + timedelta(days=15))
        expired = refusal(lakegate, "approve", "shop@1.1.0", "--yes")
    lakegate.ok("route", "add", "orders/", "shop")
    changed = refusal(lakegate, "approve", "shop@1.1.0", "--yes")
    signed_in(ALICE)
    lakegate.ok("withdraw", "shop@1.1.0")
    signed_in(BOB)
    approved = lakegate.ok("approve", "shop@1.1.0", "--yes")
    record = lakegate.json("log", "_contracts/shop")["blocks"][0]

    assert proposed.startswith("Proposed shop 1.1.0 (withdrawn): proposal ")
    assert again == proposed
    assert own == f"{ALICE} has proposed this: another person has to approve it"
    assert asked.startswith(f"{ALICE} proposed to withdraw `shop@1.1.0`. Nothing was changed")
    assert expired.startswith("the proposal expired at ")
    assert changed == "shop was changed since this was proposed: withdraw the version again"
    assert approved.startswith("Withdrawn: shop 1.1.0.")
    assert (record["actor"], record["content"]["proposed_by"], record["content"]["status"]) == (BOB, ALICE, "withdrawn")
    assert lakegate.json("withdraw", "shop@1.1.0")["status"] == "withdrawn"


def test_a_proposal_of_somebody_else_at_the_same_time_is_left(
    lakegate: Lakegate,
    signed_in: Callable[[str], None],  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who was slower is shown where to look."""
    publish_two_versions(lakegate, signed_in)
    lakegate.ok("withdraw", "shop@1.1.0")
    monkeypatch.setattr(Registry, "proposal", lambda *_: None)

    assert refusal(lakegate, "withdraw", "shop@1.1.0").endswith("look at `lakegate proposals`")

"""`lakegate publish`, `proposals` and `approve` of a stack that requires approval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lakegate.aws.wiring import StsIdentity
from lakegate.base import extension_points
from lakegate.base.errors import SetUpError
from tests.fakes.identity import ALICE, BOB
from tests.unit.cli.conftest import Lakegate


@pytest.fixture
def signed_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The stack requires approval; anyone who is signed in is the caller that STS names."""
    monkeypatch.setattr("lakegate.aws.open_stack.DeployedStack.requires_approval", property(lambda _: True))

    def sign_in(person: str) -> None:
        monkeypatch.setattr(StsIdentity, "caller", lambda _: person)

    sign_in(ALICE)
    return sign_in


def test_without_the_feature_nothing_is_published_unapproved(
    lakegate: Lakegate, signed_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack that requires approval refuses to publish where the folder of proposals is absent, and says what is missing."""
    assert signed_in is not None
    monkeypatch.setattr(extension_points, "_is_there", lambda place: ".proposals." not in place)

    refused = lakegate("publish", lakegate.contract())

    assert isinstance(refused.exception, SetUpError)  # `main` answers it with 2
    assert str(refused.exception) == "the feature proposals is not installed"
    assert lakegate.json("contracts")["contracts"] == []


def test_a_version_is_proposed_listed_and_approved(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:
    """The publisher leaves a proposal, another person makes it valid, and the ledger has both."""
    output = lakegate.ok("publish", lakegate.contract())
    waiting = lakegate.json("proposals")["proposals"]
    listed = lakegate.ok("proposals")
    nothing = lakegate.json("contracts")["contracts"]
    signed_in(BOB)
    approved = lakegate.ok("approve", "shop@1.0.0", "--proposal", waiting[0]["proposal"][:12], "--yes")
    record = lakegate.json("log", "_contracts/shop")["blocks"][0]

    assert output.splitlines()[0] == f"Proposed shop 1.0.0 (active): proposal {waiting[0]['proposal'][:12]}."
    assert output.splitlines()[2].strip() == f"lakegate approve shop@1.0.0 --proposal {waiting[0]['proposal'][:12]}"
    assert (waiting[0]["contract"], waiting[0]["version"], waiting[0]["proposer"], waiting[0]["expired"]) == (
        "shop",
        "1.0.0",
        ALICE,
        False,
    )
    assert ALICE in listed
    assert nothing == []
    assert approved.startswith("Published shop 1.0.0 (active).")
    assert (record["actor"], record["content"]["proposed_by"]) == (BOB, ALICE)
    assert lakegate.ok("proposals") == "No contract version waits for approval.\n"


def test_an_approval_must_be_confirmed_and_be_of_the_proposal_that_was_read(
    lakegate: Lakegate, signed_in: Callable[[str], None]
) -> None:
    """Own proposals, other digests, unknown names, and what nobody confirmed: nothing becomes valid."""
    lakegate.json("publish", lakegate.contract())
    own = lakegate("approve", "shop@1.0.0", "--yes")
    signed_in(BOB)
    tries = [
        own,
        lakegate("approve", "shop@1.0.0"),
        lakegate("approve", "shop@1.0.0", "--yes", "--proposal", "f" * 64),
        lakegate("approve", "shop@1.0.0", "--yes", "--proposal", ""),
        lakegate("approve", "shop", "--yes"),
        lakegate("approve", "shop@1.0.1", "--yes"),
    ]

    assert [each.exit_code for each in tries] == [1] * len(tries)  # an exception: `main` answers it with 2
    assert [str(each.exception).rpartition(":")[0] for each in tries[:2]] == [
        f"{ALICE} has proposed this version",
        f"{ALICE} proposed `shop@1.0.0`. Nothing was changed",
    ]
    assert lakegate.json("contracts")["contracts"] == []


def test_an_approver_is_shown_the_changes(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:
    """The comparison with the version before it comes first; what is published is published without another proposal."""
    lakegate.ok("publish", lakegate.contract())
    signed_in(BOB)
    lakegate.ok("approve", "shop@1.0.0", "--yes")
    signed_in(ALICE)
    again = lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract("1.0.1", Shop="Store"))
    signed_in(BOB)
    machine = lakegate.json("approve", "shop@1.0.1", "--yes")
    repeated = lakegate("approve", "shop@1.0.1", "--yes")

    assert again.startswith("Published shop 1.0.0")
    assert machine["version"] == "1.0.1"
    assert "that version is published" in str(repeated.exception)


def test_an_approver_reads_what_is_proposed(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:
    """`show` has the proposed document and says what it is; `diff` compares with it; `proposals` ends with commands."""
    lakegate.ok("publish", lakegate.contract())
    signed_in(BOB)
    first = lakegate("show", "shop", "1.0.0")
    lakegate.ok("approve", "shop@1.0.0", "--yes")
    signed_in(ALICE)
    path = lakegate.contract("1.0.1", Shop="Store")
    lakegate.ok("publish", path)
    signed_in(BOB)
    shown, document, columns, resolved = (
        lakegate("show", "shop", "1.0.1", *options)
        for options in ((), ("--json",), ("--columns",), ("--resolved", "--json"))
    )
    (waiting,) = lakegate.json("proposals")["proposals"]
    short = waiting["proposal"][:12]

    assert first.exit_code == 0
    assert first.stderr.startswith("lakegate: this is no published version, but proposal ")
    assert shown.stdout == Path(path).read_text()
    assert shown.stderr == (
        f"lakegate: this is no published version, but proposal {short} of {ALICE}, which waits for approval until"
        f" {waiting['expires_at'][:16]}\n"
    )
    assert json.loads(document.stdout)["proposal"] == waiting
    assert "proposal" not in lakegate.json("show", "shop", "1.0.0")
    assert columns.stdout.startswith("Store 1.0.1\n")
    assert list(json.loads(resolved.stdout)["resolved"]) == ["orders"]
    assert lakegate.ok("diff", "shop", "shop@1.0.1").endswith("The changes need PATCH, and 1.0.0 → 1.0.1 is enough.\n")
    assert lakegate.ok("proposals").splitlines()[-3:] == [
        "Read it:     lakegate show shop 1.0.1",
        f"Approve it:  lakegate approve shop@1.0.1 --proposal {short}",
        'Decline it:  lakegate decline shop@1.0.1 --reason "…"',
    ]


def test_a_proposal_is_declined_with_a_reason(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:
    """It is gone, the ledger has who declined what and why, and it can be proposed again."""
    lakegate.ok("publish", lakegate.contract())
    (waiting,) = lakegate.json("proposals")["proposals"]
    signed_in(BOB)
    two_lines = lakegate("decline", "shop@1.0.0", "--reason", "no\nowner")
    of_api = [
        lakegate("decline", "shop@1.0.0", "--reason", "no owner", *more)
        for more in (("--contract", "shop"), ("--api", "https://api.example"))
    ]
    output = lakegate.ok("decline", "shop@1.0.0", "--reason", "no owner")
    again = lakegate("decline", "shop@1.0.0", "--reason", "no owner")
    late = lakegate("approve", "shop@1.0.0", "--yes")
    record = lakegate.json("log", "_contracts/shop")["blocks"][0]
    signed_in(ALICE)
    lakegate.ok("publish", lakegate.contract())
    signed_in(BOB)
    declined = lakegate.json("decline", "shop@1.0.0", "--reason", "still none")
    kinds = [each["kind"] for each in lakegate.json("log", "_contracts/shop")["blocks"]]

    assert str(two_lines.exception) == "the reason to decline a proposal is one line of at most 500 characters"
    assert ["--contract are for deliveries" in str(each.exception) for each in of_api] == [True, True]
    assert output == f"Declined: shop 1.0.0, proposed by {ALICE}: no owner.\n"
    assert str(again.exception).startswith("no proposal of `shop@1.0.0` waits for approval")
    assert str(late.exception) == str(again.exception)
    assert (record["kind"], record["actor"]) == ("decline-version", BOB)
    assert record["content"] == {
        "document": waiting["document"],
        "proposed_by": ALICE,
        "reason": "no owner",
        "status": "active",
        "version": "1.0.0",
    }
    assert (declined["contract"], declined["version"], declined["reason"]) == ("shop", "1.0.0", "still none")
    assert kinds == ["decline-version", "decline-version"]
    assert lakegate.json("contracts")["contracts"] == []


def test_a_declined_withdrawal_leaves_the_version(lakegate: Lakegate, signed_in: Callable[[str], None]) -> None:
    """A proposal to take a version back is declined as one to publish; the version stays in force."""
    for version in ("1.0.0", "1.1.0"):
        signed_in(ALICE)
        lakegate.ok("publish", lakegate.contract(version))
        signed_in(BOB)
        lakegate.ok("approve", f"shop@{version}", "--yes")
    signed_in(ALICE)
    lakegate.ok("withdraw", "shop@1.1.0")
    signed_in(BOB)
    lakegate.ok("decline", "shop@1.1.0", "--reason", "it is right")
    record = lakegate.json("log", "_contracts/shop")["blocks"][0]

    assert (record["kind"], record["content"]["status"]) == ("decline-version", "withdrawn")
    assert lakegate.json("show", "shop")["version"] == "1.1.0"
    assert lakegate.ok("proposals") == "No contract version waits for approval.\n"

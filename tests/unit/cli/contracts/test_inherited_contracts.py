"""`lakegate publish`, `diff` and `show` with contracts that inherit."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from unittest.mock import Mock

from lakegate.aws.open_stack import DeployedStack
from lakegate.aws.wiring import StsIdentity
from lakegate.base.errors import AccessDenied
from lakegate.gate.datasets import lifecycle
from tests.fakes.identity import BOB
from tests.unit.cli.conftest import Lakegate
from tests.unit.inheritance.families import child_of, parent_of

if TYPE_CHECKING:
    import pytest


SOME = {"id": "some", "metric": "rowCount"}


def written(lakegate: Lakegate, name: str, text: bytes) -> str:
    folder = lakegate.folder / name
    folder.mkdir()
    (folder / "contract.json").write_bytes(text)
    return str(folder / "contract.json")


def policy(lakegate: Lakegate, least: int, version: str = "1.0.0") -> str:
    text = parent_of({"common": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": least}]}}, version=version)
    return written(lakegate, f"policy-{version}-{least}", text)


def family(lakegate: Lakegate) -> str:
    """A published policy and a published child; the child's file."""
    lakegate.ok("publish", policy(lakegate, 5))
    rule = {**SOME, "mustBeGreaterOrEqualTo": 7}
    child = written(lakegate, "child", child_of({"object": {"quality": [rule]}}, team={"name": "sales"}))
    lakegate.ok("publish", child)
    return child


def test_the_parent_is_found_in_the_registry(lakegate: Lakegate) -> None:
    """A child whose parent is nowhere is refused, and published once the parent is."""
    child = written(lakegate, "child", child_of({}))
    refused = lakegate("publish", child)

    assert (refused.exit_code, "unknown-parent" in refused.stdout) == (1, True)
    lakegate.ok("publish", policy(lakegate, 5))
    assert lakegate.ok("publish", child).startswith("Published shop 1.0.0 (active).")


def test_parents_that_no_file_has_are_read_from_the_registry(lakegate: Lakegate) -> None:
    """Lint, plan, check and diff judge a child by the published parent; a file beside the document comes first."""
    lakegate.ok("publish", policy(lakegate, 5))
    weak = child_of({"object": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": 4}]}}, version="1.1.0")
    child, weaker = written(lakegate, "child", child_of({})), written(lakegate, "weaker", weak)
    data = lakegate.file(b"id,country,amount,day\n1,BR,1,2026-01-01\n")

    assert lakegate.json("lint", child) == {"valid": True, "errors": [], "warnings": []}
    assert [each["code"] for each in json.loads(lakegate("lint", "--json", weaker).stdout)["errors"]] == [
        "weaker-than-parent"
    ]
    assert "some" in [each["rule"] for each in lakegate.json("plan", child)["checks"]]
    checked = lakegate("check", "--contract", child, data, "--json")
    (some,) = [each for each in json.loads(checked.stdout)["checks"] if each["rule"] == "some"]
    assert (some["status"], some["measured"]["value"]) == ("fail", 1)
    lakegate.ok("publish", child)
    assert lakegate.ok("diff", "shop@latest", child) == "No change (1.0.0 → 1.0.0).\n"
    lax = parent_of({"common": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": 1}]}})
    (lakegate.folder / "weaker" / "acme.json").write_bytes(lax)
    assert lakegate.json("lint", weaker)["valid"]


def test_a_registry_that_cannot_be_read_is_one_error_with_the_remedy(lakegate: Lakegate) -> None:
    """It is located at `inherits`, and the registry is asked once for all documents."""
    children = [written(lakegate, name, child_of({})) for name in ("child", "another")]
    refused = lakegate("lint", "--json", "--stack", "another", *children)
    errors = json.loads(refused.stdout)["errors"]
    reason = (
        "there is no stack another in us-east-1: name another with --stack or another region with AWS_REGION,"
        " or deploy one (docs/deploy.md)"
    )

    assert (refused.exit_code, [each["code"] for each in errors]) == (1, ["unknown-parent"] * 2)
    assert {each["message"] for each in errors} == {
        (
            "`acme@1` cannot be read: no file has it, and the registry of the stack another cannot be read"
            f" ({reason}): give its file with --parents, or name another stack with --stack."
        )
    }
    assert {each["path"] for each in errors} == {"$.customProperties[0].value.inherits"}


def test_children_that_are_weaker_are_shown_and_keep_nothing_back(lakegate: Lakegate) -> None:
    """The child is named with its owner and the lines of its document, and the version is confirmed; the line is marked until
    the child is as strict.
    """
    family(lakegate)
    stricter = policy(lakegate, 8, "1.1.0")
    when, unconfirmed, dry = (
        "at once: its datasets get notice",
        lakegate("publish", stricter),
        lakegate.json("publish", stricter, "--dry-run"),
    )
    shown = lakegate("publish", stricter, "--dry-run").stderr.splitlines()
    published = lakegate.ok("publish", stricter, "--yes")
    marked = lakegate.json("subscribers", "shop/orders_v1")["parents"]
    rule = {**SOME, "mustBeGreaterOrEqualTo": 8}
    lakegate.ok("publish", written(lakegate, "next", child_of({"object": {"quality": [rule]}}, version="1.1.0")))

    assert unconfirmed.stderr.splitlines()[:2] == shown
    assert shown[0] == "shop 1.0.0 (owner: sales) is weaker:"
    assert shown[1].startswith("  line 1: `orders#some` is weaker than in `acme@1.1.0`")
    assert dry["confirm"] == [
        f"shop 1.0.0 (owner: `sales`) is weaker than acme 1.1.0, from which new versions of it inherit {when}"
    ]
    (child,) = dry["children"]
    assert (child["contract"], child["owner"], child["errors"][0]["code"]) == ("shop", "sales", "weaker-than-parent")
    assert published.startswith("Published acme 1.1.0 (active).")
    assert [each["version"] for each in marked] == ["acme@1.1.0"]
    assert lakegate.json("subscribers", "shop/orders_v1")["parents"] == []


def test_who_may_not_write_lines_is_told_who_got_no_notice(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is published; the right that is missing, and what to do, are named."""
    family(lakegate)
    monkeypatch.setattr(lifecycle, "_write", Mock(side_effect=AccessDenied("PutItem")))
    ended = lakegate("publish", policy(lakegate, 8, "1.1.0"), "--yes")

    assert (ended.exit_code, ended.stdout.splitlines()[0]) == (0, "Published acme 1.1.0 (active).")
    assert ended.stderr == (
        "lakegate: `shop 1.0.0` got no notice: that needs LifecyclePolicy, and publishing the document again\n"
    )


def day(days: int) -> str:
    """The date so many days from now, UTC."""
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def test_a_parent_that_breaks_a_child_is_inherited_from_a_day_on(lakegate: Lakegate) -> None:
    """The owner has to be confirmed, then the version is published; list, subscribers and log show the notice."""
    family(lakegate)
    stricter, at = policy(lakegate, 8, "1.1.0"), day(40)
    words = ("publish", stricter, "--from", at)
    effect = (
        f"shop 1.0.0 (owner: `sales`) is weaker than acme 1.1.0, from which new versions of it inherit from {at} on: its"
        " datasets get notice"
    )
    unconfirmed, dry = lakegate(*words), lakegate.json(*words, "--dry-run")
    published = lakegate.ok(*words, "--yes")
    again = lakegate.json(*words)
    subscribers = lakegate.ok("subscribers", "shop/orders_v1")

    assert (unconfirmed.exit_code, effect in str(unconfirmed.exception)) == (1, True)
    assert dry["confirm"] == [effect]
    assert published.splitlines()[:2] == [
        "Published acme 1.1.0 (active).",
        f"  Contracts inherit from it from {at} on.",
    ]
    assert again["inherited_from"] == f"{at}T00:00:00.000000Z"
    listed = [" ".join(line.split()) for line in lakegate.ok("contracts").splitlines()]
    assert listed[1:3] == [
        "* 1.0.0 active *_v1 acme",
        f"* 1.1.0 active *_v1 inherited from {at} on acme",
    ]
    assert f"  weaker than acme@1.1.0 (owner: sales), which is inherited from {at} on" in subscribers.splitlines()
    assert lakegate.json("subscribers", "shop/orders_v1")["parents"] == [
        {"version": "acme@1.1.0", "inherited_from": f"{at}T00:00:00.000000Z", "owner": "sales"}
    ]
    (block,) = lakegate.json("log", "shop/orders_v1")["blocks"]
    assert block["content"]["act"] == "parent"
    assert "no day" in str(lakegate("publish", stricter, "--from", "soon").exception)


def test_a_child_that_is_published_after_the_notice_is_warned(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dry run, proposal, approval and publication name version, day and place, for people and for machines."""
    lakegate.ok("publish", policy(lakegate, 5))
    at = day(40)
    lakegate.ok("publish", policy(lakegate, 8, "1.1.0"), "--from", at, "--yes")
    rule = {**SOME, "mustBeGreaterOrEqualTo": 7}
    child = written(lakegate, "child", child_of({"object": {"quality": [rule]}}))
    monkeypatch.setattr(DeployedStack, "requires_approval", True)
    texts = [lakegate.ok("publish", child, "--dry-run"), lakegate.ok("publish", child)]
    documents = [lakegate.json("publish", child, "--dry-run"), lakegate.json("publish", child)]
    monkeypatch.setattr(StsIdentity, "caller", lambda _: BOB)
    texts.append(lakegate.ok("approve", "shop@1.0.0", "--yes"))
    documents.append(lakegate.json("publish", child))

    start = f"From {at} on, when `acme@1.1.0` is inherited: `orders#some` is weaker than in `acme@1.1.0`"
    assert [start in each and "warning weaker-than-parent" in each for each in texts] == [True] * 3
    for each in documents:
        (warning,) = each["warnings"]
        assert (warning["code"], warning["path"], warning["line"]) == (
            "weaker-than-parent",
            "$.schema[0].quality[0]",
            1,
        )
        assert warning["message"].startswith(start)


def test_an_approver_announces_what_was_proposed(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day is part of the proposal; the notice is given when it is approved."""
    family(lakegate)
    monkeypatch.setattr(DeployedStack, "requires_approval", True)
    at = day(40)
    lakegate.ok("publish", policy(lakegate, 8, "1.1.0"), "--from", at, "--yes")
    before = lakegate.json("subscribers", "shop/orders_v1")["parents"]
    monkeypatch.setattr(StsIdentity, "caller", lambda _: BOB)
    lakegate.ok("approve", "acme@1.1.0", "--yes")

    assert before == []
    assert [each["version"] for each in lakegate.json("subscribers", "shop/orders_v1")["parents"]] == ["acme@1.1.0"]
    assert lakegate.json("show", "acme", "1.1.0")["inherited_from"] == f"{at}T00:00:00.000000Z"


def test_a_child_without_an_owner_is_named_too(lakegate: Lakegate) -> None:
    """The owner is left out."""
    lakegate.ok("publish", policy(lakegate, 5))
    rule = {**SOME, "mustBeGreaterOrEqualTo": 7}
    lakegate.ok("publish", written(lakegate, "child", child_of({"object": {"quality": [rule]}})))

    assert lakegate("publish", policy(lakegate, 8, "1.1.0")).stderr.startswith("shop 1.0.0 is weaker:\n")


def test_a_resolved_contract_shows_where_inherited_values_come_from(lakegate: Lakegate) -> None:
    """The rule of the policy is shown with the version and the place of its declaration."""
    lakegate.ok("publish", policy(lakegate, 5))
    lakegate.ok("publish", written(lakegate, "child", child_of({})))
    machine = lakegate.json("show", "shop", "--resolved")

    assert machine["inherited"] == {
        "orders": [{"element": "rule some", "version": "acme@1.0.0", "path": "$.schema[0].quality[0]"}]
    }
    assert (
        "  rule some from acme@1.0.0 $.schema[0].quality[0]" in lakegate.ok("show", "shop", "--resolved").splitlines()
    )


def test_versions_are_compared_with_what_they_inherit(lakegate: Lakegate) -> None:
    """A published version with its pinned parents, a file with those beside it."""
    child = family(lakegate)
    lakegate.ok("publish", policy(lakegate, 6, "1.1.0"))
    beside = parent_of({"common": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": 6}]}}, version="1.1.0")
    (lakegate.folder / "child" / "acme.json").write_bytes(beside)

    assert lakegate.ok("diff", "shop@latest", child) == "No change (1.0.0 → 1.0.0).\n"
    assert "rule-stricter" in lakegate.ok("diff", "acme@1.0.0", "acme@1.1.0")

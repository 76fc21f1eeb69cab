"""`lakegate publish`, `diff` and `show` with contracts that inherit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.unit.inherit.families import child_of, parent_of

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Lakegate

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


def test_a_parent_that_breaks_a_child_is_refused(lakegate: Lakegate) -> None:
    """The child is named with its owner and the lines of its document; the exit code is 1."""
    family(lakegate)
    stricter = policy(lakegate, 8, "1.1.0")
    text, machine = lakegate("publish", stricter), lakegate("publish", stricter, "--json", "--dry-run")

    assert (text.exit_code, machine.exit_code) == (1, 1)
    assert text.stdout.splitlines()[0] == "shop 1.0.0 (owner: sales) would be weaker:"
    assert text.stdout.splitlines()[1].startswith("  line 1: `orders#some` is weaker than in `acme@1.1.0`")
    assert "publish stricter versions of them first" in text.stderr
    (child,) = json.loads(machine.stdout)["children"]
    assert (child["contract"], child["owner"], child["errors"][0]["code"]) == ("shop", "sales", "weaker-than-parent")


def test_a_child_without_an_owner_is_named_too(lakegate: Lakegate) -> None:
    """The owner is left out."""
    lakegate.ok("publish", policy(lakegate, 5))
    rule = {**SOME, "mustBeGreaterOrEqualTo": 7}
    lakegate.ok("publish", written(lakegate, "child", child_of({"object": {"quality": [rule]}})))

    assert lakegate("publish", policy(lakegate, 8, "1.1.0")).stdout.startswith("shop 1.0.0 would be weaker:\n")


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

"""Each change of cases.yaml is reported with the version that it needs, in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.diff.change_kinds import KINDS, Affected, Bump, Change
from tests.published_schemas import validate
from tests.unit.diff.builder import CASES, compared, document, lines

NAMES = [case["case"] for case in CASES]
ADR = {
    "Remove column": "major",
    "Change column type": "major",
    "Make nullable column required": "major",
    "Add new required column": "major",
    "Add optional column": "minor",
    "Relax nullability": "minor",
    "Change description": "patch",
    "Change classification": "patch",
    "Update SLA (stricter)": "minor",
    "Update SLA (relaxed)": "major",
}
"""The table of ADR-0029."""


def from_source(source: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case.get("source", "").startswith(source)]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_change_is_reported_with_the_version_that_it_needs(case: dict[str, Any]) -> None:
    """The changes of a case are all that is reported, and the JSON document of them follows its schema."""
    comparison = compared(document(case["old"]), document(case["new"]))

    assert lines(comparison.changes) == sorted(case["changes"])
    validate("diff", comparison.to_json())


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_opposite_change_is_reported_as_its_inverse(case: dict[str, Any]) -> None:
    """From the new version to the old one, each change has the inverse kind, and before and after are exchanged."""
    old, new = document(case["old"]), document(case["new"])
    there = [(KINDS[each.kind].inverse, each.after or "", each.before or "") for each in compared(old, new).changes]
    back = [(each.kind, each.before or "", each.after or "") for each in compared(new, old).changes]

    assert sorted(there) == sorted(back)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_change_has_a_case(kind: str) -> None:
    """A kind or its inverse is in a case, and the inverse of its inverse is the kind itself."""
    inverse = KINDS[kind].inverse
    words = {change.split()[1] for case in CASES for change in case["changes"]}

    assert {kind, inverse} & words
    assert KINDS[inverse].inverse == kind


@pytest.mark.parametrize(("row", "bump"), ADR.items())
def test_the_table_of_adr_0029_decides(row: str, bump: str) -> None:
    """Every row of ADR-0029 has a case, which needs the version of that row."""
    cases = from_source(f"ADR-0029 {row}")

    assert cases
    assert [compared(document(case["old"]), document(case["new"])).bump.value for case in cases] == [bump] * len(cases)


@pytest.mark.parametrize("case", from_source("matrix"), ids=lambda case: str(case["case"]))
def test_where_adr_0029_is_silent_the_perspectives_of_peers_decide(case: dict[str, Any]) -> None:
    """What breaks a consumer is MAJOR, what breaks only a producer MINOR, anything else PATCH or no change at all."""
    _, consumer, producer = case["source"].split()
    comparison = compared(document(case["old"]), document(case["new"]))
    bump = Bump.MAJOR if consumer == "B" else Bump.MINOR if producer == "B" else Bump.PATCH
    largest = [each for each in comparison.changes if each.bump is comparison.bump]

    assert comparison.bump in {bump, Bump.NONE}
    assert {(each.effect.consumer, each.effect.producer) for each in largest} <= {(consumer == "B", producer == "B")}


@pytest.mark.parametrize(
    ("kind", "affected"),
    [
        ("rule-removed", Affected.CONSUMER),
        ("rule-added", Affected.PRODUCER),
        ("type-changed", Affected.BOTH),
        ("description", Affected.NOBODY),
    ],
)
def test_a_change_says_who_is_affected(kind: str, affected: Affected) -> None:
    """Consumers, producers, both or nobody."""
    assert Change("orders", kind, None, None).affected is affected


def test_what_may_only_reject_says_so() -> None:
    """A change that affects producers alone warns that data accepted before may be rejected."""
    assert KINDS["rule-added"].because == "It may reject data that was accepted before: there is another rule."

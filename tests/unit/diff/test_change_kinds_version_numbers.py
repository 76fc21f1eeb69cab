"""The number of a version is high enough for its changes, or another one is proposed."""

from __future__ import annotations

import pytest

from lakegate.base.errors import ContractError, InputError
from lakegate.diff.change_kinds import Bump, Change, VersionComparison, bump_between, raise_version
from lakegate.diff.compared_versions import read_version
from tests.unit.diff.builder import document

CHANGES = {
    Bump.MAJOR: Change("orders.a", "type-changed", "string", "integer"),
    Bump.MINOR: Change("orders.b", "optional-field-added", None, "string"),
    Bump.PATCH: Change("orders.c", "description", "x", "y"),
}


@pytest.mark.parametrize(
    ("old", "new", "bump"),
    [
        ("1.2.3", "1.2.3", Bump.NONE),
        ("1.2.3", "1.2.4", Bump.PATCH),
        ("1.2.3", "1.3.0", Bump.MINOR),
        ("1.2.3", "2.0.0", Bump.MAJOR),
        ("1.2.3", "1.2.2", None),
        ("0.1.0", "0.2.0", Bump.MINOR),
        ("1.2.3", "1.3.0-rc.1", Bump.MINOR),
        ("1.3.0-rc.1", "1.3.0", Bump.PATCH),
    ],
)
def test_the_declared_bump_is_the_highest_number_that_increases(old: str, new: str, bump: Bump | None) -> None:
    """A lower number declares nothing; a pre-release counts as its release."""
    assert bump_between(old, new) is bump


@pytest.mark.parametrize(
    ("bump", "number"),
    [(Bump.NONE, "1.2.3"), (Bump.PATCH, "1.2.4"), (Bump.MINOR, "1.3.0"), (Bump.MAJOR, "2.0.0")],
)
def test_the_sufficient_number_is_the_next_one(bump: Bump, number: str) -> None:
    """The parts below the increased one start again at 0."""
    assert raise_version("1.2.3", bump) == number


@pytest.mark.parametrize("needed", [Bump.PATCH, Bump.MINOR, Bump.MAJOR])
@pytest.mark.parametrize(
    ("new", "given"), [("1.0.0", Bump.NONE), ("1.0.1", Bump.PATCH), ("1.1.0", Bump.MINOR), ("2.0.0", Bump.MAJOR)]
)
def test_a_number_is_high_enough_or_the_responsible_changes_are_named(needed: Bump, new: str, given: Bump) -> None:
    """Responsible are the changes that need more than the number declares."""
    changes = tuple(change for bump, change in CHANGES.items() if bump <= needed)
    comparison = VersionComparison("1.0.0", new, changes)

    assert (comparison.bump, comparison.ok) == (needed, needed <= given)
    assert comparison.responsible == tuple(change for bump, change in CHANGES.items() if given < bump <= needed)


def test_a_lower_number_is_never_enough() -> None:
    """Even without a change, the version would not follow the old one."""
    assert not VersionComparison("1.0.1", "1.0.0", ()).ok


def test_a_document_with_errors_is_not_compared_unless_it_is_published() -> None:
    """A published document may have been valid under the checks of an older version; a new one must be valid."""
    text = document({"root": {"price": 3}})
    with pytest.raises(ContractError):
        read_version(text)

    assert read_version(text, published=True).contract.id == "shop"


@pytest.mark.parametrize("text", [b"- 1\n", b""])
def test_a_text_that_is_no_contract_is_not_compared(text: bytes) -> None:
    """Neither as a new document nor as a published one."""
    for published in (False, True):
        with pytest.raises(ContractError):
            read_version(text, published=published)


def test_a_number_that_is_not_semantic_is_refused() -> None:
    """Without an order of numbers nothing can be decided."""
    with pytest.raises((InputError, ContractError)):
        read_version(document({}, "one"), published=True)

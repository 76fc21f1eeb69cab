"""What holds for all documents: no change without an edit, an inverse for each change, and a change for each edit."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from lakegate.contracts.compare.kinds import KINDS
from lakegate.contracts.errors import ContractError, InputError
from lakegate.infra.local.clone import ROOT
from tests.golden.cases import FILES, golden
from tests.reference.sampling import sampled
from tests.unit.compare.builder import CASES, compared, document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.compare.change import VersionComparison

Path = tuple[str | int, ...]
DOCUMENTS: dict[str, Any] = {
    path.name: json.loads(json.dumps(yaml.load(path.read_text(), yaml.CSafeLoader), default=str))
    for path in (
        *sorted((ROOT / "contracts/examples").glob("*.yaml")),
        ROOT / "tests/golden/documents/orders-latest.dcs.yaml",
    )
}
SAME_MEANING = ("apiVersion", "dataContractSpecification", "version", "primaryKeyPosition", "severity")
"""Keys of which another value may mean the same: the format, the number itself, an order of one, and a severity's synonyms."""
VERSIONS = [document(case[side]) for case in CASES for side in ("old", "new")]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The scalars of a document with their paths."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if entries is None:
        yield path, value
    else:
        for key, each in entries:
            yield from leaves(each, (*path, key))


EDITABLE = [
    (name, path, value)
    for name, whole in DOCUMENTS.items()
    for path, value in leaves(whole)
    if path[-1] not in SAME_MEANING
]


def edited(whole: Any, path: Path, value: object) -> bytes:
    """The document with another value at a path."""
    copy = place = deepcopy(whole)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(copy).encode()


def tried(old: bytes, new: bytes) -> VersionComparison | None:
    """The comparison; None if the edit made the document invalid."""
    try:
        return compared(old, new)
    except (ContractError, InputError):
        return None


@pytest.mark.parametrize("name", FILES)
def test_a_document_differs_from_itself_in_nothing(name: str) -> None:
    """Whatever a document of any format contains."""
    newest = {each.id.partition(": ")[2]: each.text for each in golden(name)}
    found = {each: comparison for each, text in newest.items() if (comparison := tried(text, text))}

    assert found
    assert {each: comparison.changes for each, comparison in found.items() if comparison.changes} == {}


@sampled(60, 2_000)
@given(st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_the_comparison_of_any_two_versions_has_a_mirror(old: bytes, new: bytes) -> None:
    """From the new version to the old one there are as many changes, of the inverse kinds."""
    there, back = compared(old, new), compared(new, old)

    assert sorted(KINDS[each.kind].inverse for each in there.changes) == sorted(each.kind for each in back.changes)


@sampled(30, 2_000)
@given(st.sampled_from(EDITABLE), st.data())
def test_any_edit_of_a_value_is_reported(place: tuple[str, Path, Any], data: st.DataObject) -> None:
    """Another number, flag or text anywhere in a document is a change, if the document is still valid."""
    name, path, value = place
    others: Any = {
        bool: st.just(not value),
        int: st.integers(0, 99),
        float: st.floats(0, 1),
        str: st.text("abc", min_size=1),
    }
    other = data.draw(others.get(type(value), st.just("x")))
    assume(other != value)
    comparison = tried(json.dumps(DOCUMENTS[name]).encode(), edited(DOCUMENTS[name], path, other))
    assume(comparison is not None)

    assert comparison is not None
    assert comparison.changes

"""The words of other tools: each is read, named or refused, and none is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lakegate.contract.documents.schema_validation import load
from tests.reference import vocabularies
from tests.reference.vocabularies import KNOWN, NO_EFFECT, REFUSED, VOCABULARIES, words

WITHOUT_EFFECT = {
    "odcs": "type: library; unit: rows; rule; id; name; description; dimension; method; businessImpact; tags; "
    "authoritativeDefinitions; customProperties",
    "dcs": "rule; description",
    "soda-3": "name",
    "soda-4": "qualifier; attributes; store_failed_rows",
    "sodacl": "name; identity; attributes; samples limit; samples columns; collect failed rows",
    "great-expectations": "allow_relative_error; result_format; catch_exceptions; include_config; "
    "rendered_content; id; meta; notes; description; library_metadata",
    "deequ": "hint",
    "dbt": "limit; store_failures; store_failures_as; tags; meta; group; alias; schema; database; sql_header",
}
"""The words that change nothing about what is measured: they name, show or keep something."""
ERRORS = {"odcs": "two operators; unit, another one; unit: percent of a query"}
"""The words that are errors of the contract."""


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_only_words_that_do_not_concern_the_data_have_no_effect(vocabulary: str) -> None:
    """A threshold, a condition or a severity is never without an effect, and few words are errors."""
    found = {
        outcome: "; ".join(word.key for word in words(vocabulary) if word.outcome == outcome)
        for outcome in (NO_EFFECT, REFUSED)
    }

    assert found == {NO_EFFECT: WITHOUT_EFFECT[vocabulary], REFUSED: ERRORS.get(vocabulary, "")}


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_what_is_not_read_has_a_reason(vocabulary: str) -> None:
    """A word that is named, listed or refused says why."""
    unread = [each for each in words(vocabulary) if each.outcome not in {"read", NO_EFFECT}]

    assert [each.key for each in unread if not each.why] == []


def keys(vocabulary: str) -> str:
    """The keys of a vocabulary, each in a line of its own."""
    return "\n".join(each.key for each in words(vocabulary))


@pytest.mark.parametrize(("vocabulary", "known"), KNOWN.items())
def test_every_word_that_is_read_is_in_a_list(vocabulary: str, known: set[str]) -> None:
    """What the code reads or names stands on the page."""
    listed = keys(vocabulary)

    assert {each for each in known if each not in listed} == set()


@pytest.mark.parametrize(
    ("vocabulary", "schema", "definitions"),
    [
        (
            "odcs",
            "official/odcs-3.2.0",
            (
                "DataQuality",
                "DataQualityOperators",
                "DataQualityLibrary",
                "DataQualitySql",
                "DataQualityCustom",
            ),
        ),
        ("dcs", "official/dcs-1.2.1", ("Quality",)),
    ],
)
def test_every_key_of_the_official_schema_is_in_a_list(
    vocabulary: str, schema: str, definitions: tuple[str, ...]
) -> None:
    """A key of a rule of quality that the format defines has a line, or is in the rules of one."""
    known = {key for name in definitions for key in properties(load(schema)["$defs"][name])}
    path = vocabularies.__file__.removesuffix(".py") + ".yaml"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a path of a module
        text = file.read().partition(f"\n{vocabulary}:")[2].partition("\n\n")[0]

    assert sorted(key for key in known if key not in text) == []


def properties(part: Any) -> Iterator[str]:
    """The keys that a part of a schema defines, in alternatives and conditions too."""
    if isinstance(part, dict):
        yield from part.get("properties", ())
        for name, inner in part.items():
            if name in {"allOf", "anyOf", "oneOf", "then"}:
                yield from properties(inner)
    elif isinstance(part, list):
        for each in part:
            yield from properties(each)

"""The documents of types and rules say what the code does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.contracts.compile.rules.strftime import compile_format
from lakegate.contracts.plan.check import Unit
from lakegate.infra.local.places import ROOT
from tests.reference.tables import DOCS, TABLES, between


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_in_the_documents_is_the_one_of_the_code(name: str) -> None:
    """A table that drifted is written anew by `python -m tests.reference.tables`."""
    text = (DOCS / name.partition("#")[0]).read_text()

    assert f"\n{TABLES[name]}\n" == between(text, name)


def test_the_units_are_explained() -> None:
    """Every way to read a number stands in docs/rules.md."""
    text = (DOCS / "rules.md").read_text()

    assert set() == {f"`{unit.value}`" for unit in Unit if f"`{unit.value}`" not in text}


def test_the_directives_of_dates_are_listed() -> None:
    """The directives that the documents promise compile, and no other letter does."""
    listed = (DOCS / "rules.md").read_text().partition("for the directives\n`")[2].partition("`")[0].split()
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%"

    def compiles(directive: str) -> bool:
        try:
            compile_format(directive)
        except ValueError:
            return False
        return True

    assert set(listed) == {f"%{letter}" for letter in letters if compiles(f"%{letter}")}


@pytest.mark.parametrize(("schema", "key", "column"), [("odcs-3.2.0", "logicalType", 2), ("dcs-1.2.1", "FieldType", 4)])
def test_every_type_of_a_standard_stands_in_the_table(schema: str, key: str, column: int) -> None:
    """Of each type that an official schema knows, docs/types.md says what becomes of it."""
    document = json.loads((ROOT / f"contracts/schemas/official/{schema}.json").read_text())
    lines = TABLES["types.md#words"].splitlines()[2:]
    listed = {word.strip(" `") for line in lines for word in line.split("|")[column].split(",")}

    assert set(_enum_of(document, key)) <= listed


def _enum_of(node: Any, key: str) -> list[str]:
    """The closed list that stands under a key, wherever that is."""
    if isinstance(node, list):
        return next(filter(None, (_enum_of(each, key) for each in node)), [])
    if not isinstance(node, dict):
        return []
    found = node.get(key)
    if isinstance(found, dict) and "enum" in found:
        return list(found["enum"])
    return _enum_of(list(node.values()), key)

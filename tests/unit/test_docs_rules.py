"""The documents of types and rules say what the code does."""

from __future__ import annotations

import pytest

from contracts.check import Unit
from contracts.rules.strftime import compile_format
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

"""docs/codes.md says what the linter says."""

from __future__ import annotations

from contracts.linting.codes import CODES
from tests.unit.linting.page import PAGE, mended


def test_the_page_is_what_the_linter_says() -> None:
    """Every code stands there with its words, its examples and its message (`python -m tests.unit.linting.page` writes it)."""
    page = PAGE.read_text()

    assert mended(page) == page


def test_every_code_stands_on_the_page() -> None:
    """A person who reads a code in a log finds it."""
    page = PAGE.read_text()

    assert [code for code in CODES if f"| `{code}`<br>" not in page] == []

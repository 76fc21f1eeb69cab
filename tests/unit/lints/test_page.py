"""docs/codes.md agrees with the linter."""

from __future__ import annotations

from lakegate.lints.lint_codes import CODES
from tests.unit.lints.page import PAGE, generated


def test_the_page_is_up_to_date() -> None:
    """The page lists every code with its rule and examples (`python -m tests.unit.lints.page` writes it)."""
    page = PAGE.read_text()

    assert generated(page) == page


def test_every_code_is_on_the_page() -> None:
    """Every code has a row."""
    page = PAGE.read_text()

    assert [code for code in CODES if f"| `{code}`<br>" not in page] == []

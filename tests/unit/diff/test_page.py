"""docs/compatibility.md has the table of changes that the code decides by."""

from __future__ import annotations

from tests.unit.diff.page import PAGE, generated


def test_the_page_is_up_to_date() -> None:
    """Every kind with the version it needs and who is affected (`python -m tests.unit.diff.page` writes it)."""
    page = PAGE.read_text()

    assert generated(page) == page

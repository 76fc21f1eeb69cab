"""docs/compatibility.md has the table of changes that the code decides by."""

from __future__ import annotations

from tests.unit.compare.page import PAGE, generated


def test_the_page_is_up_to_date() -> None:
    """Every kind of change with the version it needs, who is affected and an example (`python -m tests.unit.compare.page`)."""
    page = PAGE.read_text()

    assert generated(page) == page

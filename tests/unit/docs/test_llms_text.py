"""docs/llms.txt, made from the navigation and the first sentence of each page."""

from __future__ import annotations

import re

from infra.site.llms import FILE, llms_text
from lakegate.base.extension_points import ROOT


def test_the_list_of_pages_is_up_to_date() -> None:
    """`python -m infra.site.llms` writes it."""
    assert FILE.read_text() == llms_text()


def test_each_page_is_there_with_a_sentence() -> None:
    """Every page of the folder but decisions, which have an index of their own."""
    listed = dict(re.findall(r"^- \[[^\]]+\]\(([^)]+)\.html\): (.*)$", FILE.read_text(), re.MULTILINE))

    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - listed.keys() == set()
    assert [page for page, about in listed.items() if len(about) < 10] == []

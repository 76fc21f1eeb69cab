"""Documents lead where they say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from infra.local.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs/decisions").glob("0*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to another file of the project finds it."""
    text = re.sub(r"`[^`\n]*`", "", page.read_text())
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]

    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_every_decision_is_listed() -> None:
    """The list of decisions has each of them, by its title."""
    listed = (ROOT / "docs/decisions/README.md").read_text()
    titles = [path.read_text().partition("\n")[0].partition(". ")[2] for path in DECISIONS]

    assert [title for title in titles if f"[{title}](" not in listed] == []


def test_every_promise_names_tests_that_exist() -> None:
    """Each test file or folder that docs/promises.md names is there."""
    named = re.findall(r"`(tests/[\w/.-]+)`", (ROOT / "docs/promises.md").read_text())

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []

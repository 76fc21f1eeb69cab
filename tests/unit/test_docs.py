"""Documents lead where they say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lakegate.infra.local.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs/decisions").glob("0*.md"))
SOURCES = {"AWS", "DCM", "DCS", "Deequ", "Great Expectations", "Lakegate", "ODCS", "ODF", "common"}
PARTS = ["Context", "Options", "Decision", "Consequences"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to another file of the project finds it."""
    text = re.sub(r"`[^`\n]*`", "", page.read_text())
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]

    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_every_decision_is_listed() -> None:
    """The index has each decision by number and title."""
    listed = (ROOT / "docs/decisions/README.md").read_text()
    lines = [f"[{path.read_text().partition(chr(10))[0].removeprefix('# ')}]({path.name})" for path in DECISIONS]

    assert [line for line in lines if line not in listed] == []


def test_every_decision_that_is_mentioned_exists() -> None:
    """A number of a decision is one of today's, except where a page names the old numbers that it replaces."""
    folders = ("contracts", "engine", "functions", "spark_jobs", "cli", "infra", "tests", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".md"}]
    numbers = {int(path.name[:4]) for path in DECISIONS}
    stale = [
        f"{path.relative_to(ROOT)}: {number}"
        for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "template.yaml"]
        for number in re.findall(
            r"(?:[Dd]ecisions? |docs/decisions/)(\d+)", re.sub(r"Replaces decisions? .*", "", path.read_text())
        )
        if int(number) not in numbers
    ]

    assert stale == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_its_four_parts(page: Path) -> None:
    """A decision names its context, options, decision and consequences, in this order, under the number of its file."""
    text = page.read_text()

    assert re.findall(r"^\*\*(Context|Options|Decision|Consequences)\.\*\*", text, re.MULTILINE) == PARTS
    assert text.startswith(f"# {int(page.name[:4])}. ")


def test_the_index_maps_every_old_number_of_a_decision() -> None:
    """A number that was used before the decisions were merged leads to the pages that replaced it, and these name it."""
    text = (ROOT / "docs/decisions/README.md").read_text().partition("## Old numbers")[2]
    rows = {
        int(old): re.findall(r"\(([^)]+)\)", now)
        for old, now in re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE)
    }
    gaps = {*range(6, 10), 19, *range(27, 30), *range(35, 40), *range(55, 60), 64, *range(76, 80), 84, 85, 104, 108}

    assert set(rows) == set(range(1, 117)) - gaps
    assert {(old, page) for old, pages in rows.items() for page in pages if not page.startswith("../")} == {
        (int(old), path.name)
        for path in DECISIONS
        for replaced in re.findall(r"Replaces decisions? (.*)", path.read_text())
        for old in re.findall(r"\d+", replaced)
    }


def test_every_promise_names_tests_that_exist() -> None:
    """Each test file or folder that docs/promises.md names is there."""
    named = re.findall(r"`(tests/[\w/.-]+)`", (ROOT / "docs/promises.md").read_text())

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_glossary_has_each_term_once_in_order_with_its_source() -> None:
    """A term is found by the alphabet, means one thing, and names a known source."""
    text = (ROOT / "docs/glossary.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")][2:]
    terms = [term.lower() for term, _, _ in rows]

    assert terms == sorted(set(terms))
    assert {source for _, _, source in rows} == SOURCES

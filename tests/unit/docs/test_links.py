"""Documents lead where they say."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "integrations/local_emr/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
DECISIONS = sorted((ROOT / "docs/decisions").glob("0*.md"))
SOURCES = {"AWS", "DCM", "DCS", "Deequ", "Great Expectations", "Lakegate", "ODCS", "ODF", "common"}
PARTS = ["Context", "Decision", "Consequences"]
TEXTS = {".cfg", ".html", ".md", ".py", ".sh", ".sql", ".toml", ".yaml", ".yml"}


def decisions_in(text: str) -> list[int]:
    """The numbers of decisions that a text mentions; where links lead is another test."""
    plain = re.sub(r"\]\([^)]*\)", "", text).replace("[", "")
    lists = re.findall(r"\b[Dd]ecisions?[ \n](\d+\b(?:(?:, | and |, and | or )\d+\b)*)", plain)
    paths = re.findall(r"docs/decisions/(\d{4})", plain)
    return [int(number) for part in [*lists, *paths] for number in re.findall(r"\d+", part)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to another file of the project finds it."""
    text = re.sub(r"`[^`\n]*`", "", page.read_text())
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]

    assert [link for link in links if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_code_block_is_indented_from_its_first_line(page: Path) -> None:
    """An indented line behind a line of text is text of that paragraph, and no command to copy."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = text.split("\n")
    behind = [line for before, line in pairwise(lines) if line.startswith("    ") and re.match(r"[\w$.]", before)]

    assert [line for line in behind if not re.match(r"\d+\. ", line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_a_decision_has_its_number(page: Path) -> None:
    """A link whose text is the number of a decision leads to that decision."""
    links = re.findall(r"\[(?:[Dd]ecision )?(\d+)\]\([^)]*?(\d{4})-[^)]*\.md\)", page.read_text())

    assert [number for number, target in links if int(number) != int(target)] == []


def test_every_decision_is_listed() -> None:
    """The index has each decision by number and title."""
    listed = (ROOT / "docs/decisions/README.md").read_text()
    lines = [f"[{path.read_text().partition(chr(10))[0].removeprefix('# ')}]({path.name})" for path in DECISIONS]

    assert [line for line in lines if line not in listed] == []


def test_every_decision_that_is_mentioned_exists() -> None:
    """A number of a decision, in code, tests, pages, templates and settings, is one of a page."""
    hidden = {"build", "node_modules", "official", "__pycache__"}
    files = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in ROOT.iterdir():
        if folder.is_dir() and folder.name not in hidden and not folder.name.startswith("."):
            files += [path for path in folder.rglob("*") if not hidden & set(path.parts)]
    texts = [path for path in files if path.suffix in TEXTS or path.name == "Makefile"]
    numbers = {int(path.name[:4]) for path in DECISIONS}
    mentions = [(path, number) for path in texts for number in decisions_in(path.read_text())]

    assert len({number for _, number in mentions}) > 20
    assert [f"{path.relative_to(ROOT)}: {number}" for path, number in mentions if number not in numbers] == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(decision 1)", [1]),
        ("Decision 2; decisions 8, 10 and 13.", [2, 8, 10, 13]),
        ("decisions [2](decisions/0002-a.md) and [13](b/0013-c.md)", [2, 13]),
        ("# docs/decisions/0018", [18]),
        ("decisions of 12 people, 20 times", []),
    ],
)
def test_mentions_of_decisions_are_found(text: str, numbers: list[int]) -> None:
    """Every form in which this repository mentions a decision is recognised."""
    assert decisions_in(text) == numbers


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_its_parts(page: Path) -> None:
    """A decision names its context, what was decided and its consequences, in this order, under the number of its file."""
    text = page.read_text()

    assert re.findall(r"^\*\*(Context|Decision|Consequences)\.\*\*", text, re.MULTILINE) == PARTS
    assert text.startswith(f"# {int(page.name[:4])}. ")


def test_every_promise_names_tests_that_exist() -> None:
    """Each test file or folder that docs/guarantees.md names is there."""
    named = re.findall(r"`(tests/[\w/.-]+)`", (ROOT / "docs/guarantees.md").read_text())

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_glossary_has_each_term_once_in_order_with_its_source() -> None:
    """A term is found by the alphabet, means one thing, and names a known source."""
    text = (ROOT / "docs/glossary.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")][2:]
    terms = [term.lower() for term, _, _ in rows]

    assert terms == sorted(set(terms))
    assert {source for _, _, source in rows} == SOURCES

"""docs/change-guide.md names files, modules and tests that exist."""

from __future__ import annotations

import re

import pytest

from lakegate.base.extension_points import ROOT

PAGE = (ROOT / "docs/change-guide.md").read_text()
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if re.match(r"^\| \d+ \|", line)]


def named(text: str) -> list[str]:
    """The paths in backticks: whatever has a slash, or ends like a file of the root."""
    return [
        each for each in re.findall(r"`([^`]+)`", text) if re.fullmatch(r"[\w.-]+(?:/[\w./-]+|\.(?:yaml|toml))", each)
    ]


def test_every_path_exists() -> None:
    """Each path that the page names is a file or a folder of the repository."""
    paths = named(PAGE)

    assert len(paths) > 100
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_name_is_defined_in_its_file() -> None:
    """Where the page places a name in a file, the file defines it; an import of it is not enough."""
    pairs = re.findall(r"`(\w+)` in `([\w./-]+\.\w+)`", PAGE)
    defined = r"(?m)^\s*(?:def |class )?{}\b(?!,|\.|$)"
    texts = {path: (ROOT / path).read_text() for _, path in pairs}

    assert len(pairs) > 40
    assert [(name, path) for name, path in pairs if not re.search(defined.format(name), texts[path])] == []


def test_every_module_that_is_run_exists() -> None:
    """Each `python -m MODULE` of the page is a module of the repository."""
    modules = re.findall(r"`python -m ([\w.]+)", PAGE)

    assert modules
    assert [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []


def test_the_changes_are_numbered_and_at_least_25() -> None:
    """The rows count from 1 without a gap."""
    assert [int(row[0]) for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_every_change_names_what_to_change_and_what_to_test(row: list[str]) -> None:
    """A row has a path to change, a test, and a page to update or an empty cell."""
    _, _, change, tests, pages = row

    assert named(change)
    assert [path for path in named(tests) if path.startswith("tests/")]
    assert {path.split("/")[0] for path in named(pages)} <= {"docs", "contracts"}

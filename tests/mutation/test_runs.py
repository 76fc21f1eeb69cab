"""The mutation run itself: a mutant takes the place of its module, and its fate is what the tests find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant
from tests.mutation.runs import Fate, covered_by, fate

MODULE = """
LIMIT = 3


def largest(values):
    found = values[0]
    for each in values:
        if each > found:
            found = each
    return found


def unused(value):
    return value + 1
"""
TESTS = """
import sys
sys.path.insert(0, {folder!r})
from toy import LIMIT, largest


def test_the_last_is_the_largest():
    assert largest([1, 2, 3]) == 3


def test_the_first_is_the_largest():
    assert largest([3, 2]) == 3


def test_the_limit_is_three():
    assert LIMIT == 3
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module and its tests, apart from this process's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text(MODULE)
    (tmp_path / "test_toy.py").write_text(TESTS.format(folder=str(tmp_path)))
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import settings\nsettings.register_profile('mutation', settings.get_profile('default'))\n"
    )
    return tmp_path


def mutant(before: str, after: str) -> Mutant:
    assert before in MODULE
    line = MODULE[: MODULE.index(before)].count("\n") + 1
    return Mutant("toy.py", "by hand", line, MODULE.replace(before, after))


def test_lines_are_known_with_the_tests_that_execute_them(toy: Path) -> None:
    """A test is listed for a line that it executes; for a line of no test all tests of the test file are run."""
    covered = covered_by(["test_toy.py"], "", toy)
    last, first = "test_toy.py::test_the_last_is_the_largest", "test_toy.py::test_the_first_is_the_largest"

    assert covered.tests_of("toy.py", 9) == [last]
    assert set(covered.tests_of("toy.py", 10)) == {last, first}
    assert set(covered.tests_of("toy.py", 14)) == {last, first, "test_toy.py::test_the_limit_is_three"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("each > found", "each < found", Fate.KILLED),
        ("each > found", "each >= found", Fate.SURVIVED),
        ("found = values[0]", "found = values[9]", Fate.KILLED),
        ("def largest", "def smallest", Fate.KILLED),
        ("value + 1", "value - 1", Fate.SURVIVED),
    ],
)
def test_a_mutant_is_killed_where_a_test_fails(toy: Path, before: str, after: str, expected: Fate) -> None:
    """A failing assertion, an exception and a failing import kill; a change that no test sees survives; no file changes."""
    changed = mutant(before, after)
    tests = ["test_toy.py::test_the_last_is_the_largest", "test_toy.py::test_the_first_is_the_largest"]

    assert fate(changed, tests, 0.1, toy) is expected
    assert (toy / "toy.py").read_text() == MODULE


def test_a_mutant_that_does_not_end_is_stopped(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless loop is ended at its limit of processor time, and counts as noticed."""
    monkeypatch.setattr("tests.mutation.runs.CPU_SECONDS", 2)
    endless = mutant("for each in values:", "while True:\n        each = found")

    assert fate(endless, ["test_toy.py::test_the_first_is_the_largest"], 0, toy) is Fate.TIMED_OUT

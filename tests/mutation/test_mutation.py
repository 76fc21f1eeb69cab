"""What a mutation run reads of this project: the tests of each package, and explained survivors."""

from __future__ import annotations

import yaml

from lakegate.base.extension_points import ROOT
from tests.mutation.__main__ import SURVIVORS, explanation
from tests.mutation.mutants import Mutant
from tests.mutation.packages import PACKAGES
from tests.mutation.runs import Covered


def test_the_fastest_tests_run_first() -> None:
    """A mutant costs little where a fast test notices it."""
    covered = Covered({"a.py": {1: ["t::slow", "t::fast"]}}, {"t::slow": 2.0, "t::fast": 0.1, "u::other": 1.0})

    assert covered.tests_of("a.py", 1) == ["t::fast", "t::slow"]
    assert covered.tests_of("b.py", 1) == ["t::fast", "u::other", "t::slow"]


def test_all_cases_of_a_test_function_run() -> None:
    """Cases can share a cached batch, whose lines are executed in the first case alone."""
    covered = Covered({"a.py": {1: ["t::cases[1]"]}}, {"t::cases[1]": 2.0, "t::cases[2]": 0.1, "t::other": 0.1})

    assert covered.tests_of("a.py", 1) == ["t::cases[2]", "t::cases[1]"]


def test_the_tests_of_every_package_exist() -> None:
    """A file that was renamed is noticed here, and not in the night."""
    missing = [name for package, tests in PACKAGES.items() for name in (package, *tests) if not (ROOT / name).exists()]

    assert missing == []


def test_every_explained_survivor_is_a_line_of_the_code() -> None:
    """An explanation is removed, or checked again, when its line changes."""
    known = yaml.safe_load(SURVIVORS.read_text())
    stale = [
        each for each in known if each["line"] not in map(str.strip, (ROOT / each["path"]).read_text().splitlines())
    ]

    assert stale == []
    assert [each for each in known if set(each) != {"path", "line", "operators", "reason"}] == []


def test_an_explanation_is_for_one_operator_on_one_line() -> None:
    """Another change of the same line is not excused."""
    (first, *_) = yaml.safe_load(SURVIVORS.read_text())
    lines = (ROOT / first["path"]).read_text().splitlines()
    at = next(at for at, line in enumerate(lines, 1) if line.strip() == first["line"])
    changed = "\n".join([*lines[: at - 1], "changed", *lines[at:]]) + "\n"

    assert explanation(Mutant(first["path"], first["operators"][0], at, changed)) == first["reason"]
    assert explanation(Mutant(first["path"], "core/NoOp", at, changed)) is None

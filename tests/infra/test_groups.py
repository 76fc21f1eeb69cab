"""`make test` runs every test once; tests that share what is expensive run in one process of `--dist loadgroup`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from lakegate.base.extension_points import ROOT
from tests.conftest import NEEDS, group_of

PROGRAMS = {"spark", "tools", "service", "simulation", "e2e"}
FILES_OF_TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
FILES = (
    "tests/unit/contract/test_semantic_versions.py",
    "tests/unit/contract/test_name_times.py",
    "tests/infra/test_java.py",
)
RAN = re.compile(r"^\[(gw\d)\].* PASSED (tests/[\w/]+\.py)::", re.MULTILINE)


def test_each_group_runs_in_one_process() -> None:
    """The tests of a file run in one process, and two processes share the files."""
    options = shlex.split("-m pytest -v -p no:slipcover -n 2 --dist loadgroup --no-loadscope-reorder")
    ended = subprocess.run([sys.executable, *options, *FILES], capture_output=True, text=True, cwd=ROOT, check=False)  # noqa: S603 - our own tests
    processes: dict[str, set[str]] = defaultdict(set)
    for process, file in RAN.findall(ended.stdout):
        processes[file].add(process)

    assert set(processes) == set(FILES), ended.stdout
    assert {file: len(found) for file, found in processes.items()} == dict.fromkeys(FILES, 1)
    assert set.union(*processes.values()) == {"gw0", "gw1"}


def test_what_is_built_for_several_files_is_shared() -> None:
    """Tests of the built template are one group, those of the local stack one for each file; schedules are each their own."""
    files = (
        "test_keys.py::test_a",
        "test_keys.py::test_b[x/y]",
        "test_jobs.py::test_b",
        "judge/test_batches.py::test_a",
    )
    stacks = [group_of(f"tests/e2e/{name}") for name in files]
    schedules = [group_of(f"tests/simulation/test_storms.py::test_{name}") for name in "ab"]

    assert (stacks[0], len(set(stacks)), len(set(schedules))) == (stacks[1], 3, 2)
    assert group_of("tests/sam/test_roles.py::test") == group_of("tests/infra/packaging/test_wheel.py::test")


@dataclass(frozen=True)
class Call:
    """A call of pytest: the markers that it selects, and its folders."""

    markers: str
    paths: frozenset[Path]

    def runs(self, file: Path, marker: str) -> bool:
        """Whether it runs the tests of a file that have these markers, separated by spaces; empty: none that a target names."""
        names = dict.fromkeys(re.findall(r"\w+", self.markers), False) | dict.fromkeys(marker.split(), True)
        selected: bool = eval(self.markers, {}, names)  # noqa: S307 - our own Makefile
        places = {file, *file.parents}
        return selected and not self.paths.isdisjoint(places)


def calls_of(target: str) -> list[Call]:
    """What a target of the Makefile calls."""
    command = ["make", "--dry-run", target]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)  # noqa: S603 - our own Makefile
    lines = [shlex.split(line) for line in ended.stdout.splitlines() if " -m pytest " in line]
    return [
        Call(words[words.index("-q") + 2], frozenset(ROOT / word for word in words if word.startswith("tests/")))
        for words in lines
    ]


def markers_of(file: Path) -> set[str]:
    """The markers of a file's tests that targets name; an empty one for tests without any; none at all of a nightly file."""
    of_folder = {mark.name for place, mark in NEEDS.items() if place in (file, *file.parents)}
    text = file.read_text()
    if "pytestmark = pytest.mark.full" in text:
        return set()
    own = {name for name in PROGRAMS | {"slow"} if f"mark.{name}" in text}
    return of_folder | own if of_folder or (own and "pytestmark" in text) else {"", *own}


def test_make_test_runs_each_test_once() -> None:
    """For each file of tests, and each marker that its tests have, one call of `make test` runs them; its folders exist."""
    calls = calls_of("test")
    times = {
        (str(file), marker): sum(call.runs(file, marker) for call in calls)
        for file in FILES_OF_TESTS
        for marker in {name if name in PROGRAMS else "" for name in markers_of(file)}
    }

    assert len(calls) == 3
    assert {test: number for test, number in times.items() if number != 1} == {}
    assert [path for call in calls for path in call.paths if not path.exists()] == []


def test_make_quick_runs_what_needs_no_program_and_is_not_slow() -> None:
    """Its folders are those that contain such tests."""
    (call,) = calls_of("quick")
    runs = {str(file): call.runs(file, "") for file in FILES_OF_TESTS if "" in markers_of(file)}

    assert runs != {}
    assert {file for file, number in runs.items() if not number} == set()

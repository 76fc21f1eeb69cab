"""Test runs in forked processes: what each test covers, and whether tests fail on a mutant.

The parent imports the libraries once, and nothing of the mutated packages. A child imports these with the mutant in the place of
its file, so that the working tree never changes.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, cast

import coverage
import pytest

from tests.mutation.mutants import Mutant

LIBRARIES = (
    "hypothesis",
    "jsonschema",
    "numpy",
    "pyarrow",
    "pyarrow.compute",
    "duckdb",
    "rich",
    "sqlglot",
    "click",
    "yaml",
)
QUIET = (
    "-q",
    "-x",
    "--no-header",
    "--no-summary",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:slipcover",
    "-p",
    "no:xdist",
    "--hypothesis-profile=mutation",
)
KNOWN = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # hypothesis is imported before pytest starts
CPU_SECONDS = 20
"""What a mutant may use beyond five times the processor time of its tests."""
MAX_BYTES = 12 * 2**30
"""Of address space: a mutant that allocates without end fails."""
WAIT_SECONDS = 600
"""A child that has not ended by then waits for something that does not come."""


class Fate(Enum):
    """What the tests found of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


@dataclass(slots=True)
class Covered:
    """Which tests execute which lines, and the processor seconds of each test."""

    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    """By path and line: the ids of tests."""
    seconds: dict[str, float] = field(default_factory=dict)

    def tests_of(self, path: str, line: int) -> list[str]:
        """The tests to run for a line, the fastest first: the test functions that execute it, with all of their cases.

        Cases of one function can share work, such as a cached batch, which counts for the first of them. An import executes
        the lines of tables and classes, not a test: for them all tests of the test files that concern the module are run; all
        tests if there is none.
        """
        lines = self.lines.get(path, {})
        files = {_test_file(each) for tests in lines.values() for each in tests}
        concerned = {each for each in self.seconds if _test_file(each) in files}
        functions = set(map(_function, lines.get(line, ())))
        found = {each for each in self.seconds if _function(each) in functions} or concerned or set(self.seconds)
        return sorted(found, key=lambda each: self.seconds[each])


def _test_file(test: str) -> str:
    return test.partition("::")[0]


def _function(test: str) -> str:
    """The id without the case."""
    return test.partition("[")[0]


class _Measured:
    """A pytest plugin: coverage by test, and processor seconds."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.coverage = measured
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        answer = yield
        self.seconds[item.nodeid] = time.process_time() - began
        self.coverage.switch_context("")
        return answer


class _Chosen:
    """A pytest plugin: these tests, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {each: at for at, each in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (each for each in items if each.nodeid in self.place), key=lambda each: self.place[each.nodeid]
        )


class _Instead(importlib.machinery.SourceFileLoader):
    """A module's file with another text."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.get_filename(fullname), "exec")


class Finder:
    """Finds the mutant in the place of its module."""

    def __init__(self, mutant: Mutant, root: Path) -> None:
        self.mutant, self.path = mutant, str(root / mutant.path)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG002 - importlib's protocol
        if name != self.mutant.module:
            return None
        loader = _Instead(name, self.path, self.mutant.source)
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


def covered_by(paths: Sequence[str], folder: str, root: Path) -> Covered:
    """Run tests once and note what each covers of a folder. AssertionError where one fails."""
    found, output = _in_child(lambda: _cover(paths, folder, root))
    assert found is not None, f"the tests fail without a mutant:\n{output}"
    return cast("Covered", found)


def fate(mutant: Mutant, tests: Sequence[str], seconds: float, root: Path) -> Fate:
    """Run tests on a mutant until one fails."""
    limit = int(5 * seconds + CPU_SECONDS)
    code, _ = _in_child(lambda: _test(mutant, tests, root), limit)
    if code is None:
        return Fate.TIMED_OUT
    assert code != pytest.ExitCode.NO_TESTS_COLLECTED, (mutant.path, mutant.line, tests[:3])
    return Fate.SURVIVED if code == pytest.ExitCode.OK else Fate.KILLED


def prepare() -> None:
    """Import what every child needs."""
    for name in LIBRARIES:
        importlib.import_module(name)


def _cover(paths: Sequence[str], folder: str, root: Path) -> Covered:
    measured = coverage.Coverage(data_file=None, config_file=False, source=[str(root / folder)])
    plugin = _Measured(measured)
    measured.start()
    code = pytest.main([*QUIET, *KNOWN, *paths], plugins=[plugin])
    measured.stop()
    assert not code
    data, found = measured.get_data(), Covered(seconds=plugin.seconds)
    for path in data.measured_files():
        lines = data.contexts_by_lineno(path)
        found.lines[Path(path).relative_to(root).as_posix()] = {
            line: [each for each in tests if each] for line, tests in lines.items()
        }
    return found


def _test(mutant: Mutant, tests: Sequence[str], root: Path) -> int:
    assert not [name for name in sys.modules if name.startswith(mutant.module)]
    sys.meta_path.insert(0, Finder(mutant, root))  # type: ignore[arg-type]  # a finder by its method
    files = dict.fromkeys(map(_test_file, tests))
    return int(pytest.main([*QUIET, *KNOWN, *files], plugins=[_Chosen(tests)]))


def _in_child(work: Callable[[], Any], cpu_seconds: int | None = None) -> tuple[Any, str]:
    """What some work returns and prints in a forked process; None where it ends without an answer, at a limit for example."""
    with tempfile.TemporaryDirectory(prefix="lakegate-mutation-") as name:
        folder = Path(name)
        child = os.fork()
        if not child:
            _work(work, folder, cpu_seconds)
        deadline = time.monotonic() + WAIT_SECONDS
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.02)
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
        answer = folder / "answer"
        found = pickle.loads(answer.read_bytes()) if answer.is_file() else None  # noqa: S301 - our own child
        return found, (folder / "output").read_text(errors="replace")


def _work(work: Callable[[], Any], folder: Path, cpu_seconds: int | None) -> NoReturn:
    """Work in the child, a process group of its own, and write the answer to the folder."""
    try:
        os.setpgid(0, 0)
        output = os.open(folder / "output", os.O_CREAT | os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder)
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
        answer = pickle.dumps(work())
        (folder / "aside").write_bytes(answer)
        (folder / "aside").rename(folder / "answer")
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(0)

"""Tests that share what is expensive run in one process of `pytest -n 2 --dist loadgroup`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict

from lakegate.infra.local.places import ROOT
from tests.conftest import group_of

FILES = ("tests/unit/test_ports.py", "tests/unit/test_settings.py", "tests/infra/test_java.py")
RAN = re.compile(r"^\[(gw\d)\].* PASSED (tests/[\w/]+\.py)::", re.MULTILINE)


def test_each_group_runs_in_one_process() -> None:
    """The tests of a file run in one process, and two processes share the files."""
    command = ["-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", *FILES]
    ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT, check=False)  # noqa: S603 - our own tests
    processes: dict[str, set[str]] = defaultdict(set)
    for process, file in RAN.findall(ended.stdout):
        processes[file].add(process)

    assert set(processes) == set(FILES), ended.stdout
    assert {file: len(found) for file, found in processes.items()} == dict.fromkeys(FILES, 1)
    assert set.union(*processes.values()) == {"gw0", "gw1"}


def test_a_stack_is_shared_by_a_folder() -> None:
    """Tests of one stack are one group; those with a stack of their own are another; schedules are each their own."""
    shared = {group_of(f"tests/e2e/{name}") for name in ("test_keys.py::test_a", "test_jobs.py::test_b[x/y]")}
    own = {group_of(f"tests/e2e/{name}::test") for name in ("judge/test_small_deliveries.py", "test_stack_life.py")}
    schedules = [group_of(f"tests/simulation/test_storms.py::test_{name}") for name in "ab"]

    assert (len(shared), len(own), len(set(schedules))) == (1, 1, 2)
    assert group_of("tests/sam/test_roles.py::test") == group_of("tests/infra/packaging/test_wheel.py::test")
    assert shared | own != shared

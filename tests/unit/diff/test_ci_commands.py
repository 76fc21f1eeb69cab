"""The workflow and the hook of docs/compatibility.md: their commands are run as they are written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.diff.builder import document
from tests.unit.diff.page import PAGE

WORKFLOW, HOOK = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL))
NOTE = {"properties": [{"name": "id", "logicalType": "integer"}, {"name": "note", "logicalType": "string"}]}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a branch `main` that has a contract, and a branch `change` without a commit of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "contracts").mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    commit(tmp_path, document(NOTE))
    git("checkout", "--quiet", "-b", "change")
    return tmp_path


def git(*words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603, S607 - the tests' own words


def commit(repository: Path, text: bytes, name: str = "a $(touch hacked) 'b'.yaml") -> None:
    (repository / "contracts" / name).write_bytes(text)
    git("add", "--all")
    git("commit", "--quiet", "--message", "a change")


def compare_step() -> dict[str, Any]:
    return WORKFLOW["jobs"]["compare"]["steps"][-1]


def run_workflow(repository: Path) -> tuple[int, str]:
    """The exit code of the last step, and the summary of the run."""
    summary = repository / "summary.md"
    environment = {**os.environ, "BASE": git("rev-parse", "main"), "GITHUB_STEP_SUMMARY": str(summary)}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", compare_step()["run"]]
    code = subprocess.run(script, check=False, env=environment, capture_output=True).returncode  # noqa: S603 - the page's own words
    return code, summary.read_text() if summary.exists() else ""


def run_hook(repository: Path) -> int:
    """The exit code of the hook, for the files that pre-commit would name."""
    (hook,) = HOOK["repos"][0]["hooks"]
    names = [str(path.relative_to(repository)) for path in sorted((repository / "contracts").iterdir())]
    named = [name for name in names if re.search(hook["files"], name)]
    return subprocess.run([*shlex.split(hook["entry"]), *named], check=False, capture_output=True).returncode  # noqa: S603 - likewise


def test_a_number_that_is_too_low_fails_the_workflow_and_the_hook(repository: Path) -> None:
    """A column is removed under a MINOR number; the summary has the table, and no file name is run."""
    commit(repository, document({}, "1.1.0"))
    code, summary = run_workflow(repository)

    assert (code, run_hook(repository)) == (1, 1)
    assert "use 2\\.0\\.0 or higher" in summary
    assert "| major | orders\\.note | optional\\-field\\-removed |" in summary
    assert not (repository / "hacked").exists()


def test_a_number_that_is_high_enough_passes(repository: Path) -> None:
    """The table is in the summary all the same."""
    commit(repository, document({}, "2.0.0"))
    code, summary = run_workflow(repository)

    assert (code, run_hook(repository)) == (0, 0)
    assert "and 1\\.0\\.0 → 2\\.0\\.0 is enough" in summary


def test_new_contracts_and_other_files_are_not_compared(repository: Path) -> None:
    """A contract without an older version passes."""
    commit(repository, document({}, "1.0.0"), "new.yaml")

    assert (run_workflow(repository), run_hook(repository)) == ((0, ""), 0)


def test_the_workflow_may_read_and_nothing_else() -> None:
    """It runs for pull requests of anybody: no right to write, no credentials, no text of the event in a script."""
    steps = WORKFLOW["jobs"]["compare"]["steps"]

    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert steps[0]["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    assert WORKFLOW[True] == {"pull_request": {"paths": ["contracts/**"]}}

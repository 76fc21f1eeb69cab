"""`action.yml`: a step of GitHub Actions over the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakegate.base.extension_points import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
CONTRACT = ROOT / "contracts/examples/orders.odcs.yaml"


def judge(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """The last step, with `lakegate` on the path."""
    command = folder / "bin/lakegate"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom lakegate.cli.main import main\nmain()\n")
    command.chmod(0o755)
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()} | given
    step = ACTION["runs"]["steps"][-1]
    values = {name: inputs[value.split(".")[1].split(" ")[0]] for name, value in step["env"].items()}
    environment = {**os.environ, **values, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own step


def test_no_input_is_put_into_a_script() -> None:
    """An input is text of whoever opens a pull request: it reaches a shell by the environment alone."""
    assert [step["run"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")] == []


def test_a_delivery_is_judged_with_annotations(tmp_path: Path) -> None:
    """Files are one a line, whatever their names; the step fails as the command does."""
    (tmp_path / "it's; one $(touch x).csv").write_text("a,b\n1,2\n")

    ended = judge(tmp_path, contract=str(CONTRACT), files="it's; one $(touch x).csv\n")

    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("::error file=it's; one $(touch x).csv")
    assert not (tmp_path / "x").exists()


def test_contracts_are_linted(tmp_path: Path) -> None:
    """Several, one a line."""
    ended = judge(tmp_path, contract=f"{CONTRACT}\n{CONTRACT}\n", command="lint")

    assert ended.returncode == 0


@pytest.mark.parametrize("command", ["publish", "check --json", ""])
def test_no_other_command_is_run(command: str, tmp_path: Path) -> None:
    """Only those that read."""
    ended = judge(tmp_path, contract=str(CONTRACT), command=command)

    assert (ended.returncode, ended.stderr) == (2, "command is check or lint\n")

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.setup import tools as tools_module
from infra.setup.tools import main
from lakegate.spark.local_spark import INSTALLED, Jar
from tests.infra.conftest import MakeJava

ROOT = Path(__file__).parents[2]
GOOD = Jar("good-1.0.jar", "org.example:good:1.0", "770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that has no Java, and a project of one jar."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("lakegate.spark.local_spark.shutil.which", lambda *_args, **_options: None)
    monkeypatch.setattr(tools_module, "pinned_jars", lambda: (GOOD,))
    return monkeypatch


def test_set_up_installs_what_is_missing_and_reports_it_in_three_lines(
    tmp_path: Path, make_java: MakeJava, machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first run fetches; standard error lists what it did, a line for each thing."""
    java = make_java(tmp_path / "java")
    machine.setenv("JAVA_HOME", str(java))

    assert main(tmp_path / "tools") == 0

    captured = capsys.readouterr()
    assert captured.out == ""
    assert [
        f"java: {java}",
        "jars: fetching 1 with Spark's package resolver (7 MB)",
        f"jars: 1 in {tmp_path / 'tools' / 'jars'}, every checksum as pinned",
    ] == captured.err.splitlines()


def test_a_second_run_fetches_nothing(tmp_path: Path, make_java: MakeJava, machine: pytest.MonkeyPatch) -> None:
    """Set-up that is done needs no network: the same command only looks."""
    machine.setenv("JAVA_HOME", str(make_java(tmp_path / "java")))
    assert main(tmp_path / "tools") == 0
    machine.setenv("JAVA_HOME", str(make_java(tmp_path / "offline", online=False)))

    assert main(tmp_path / "tools") == 0


def test_a_failure_is_one_sentence_and_exit_code_two(
    tmp_path: Path, make_java: MakeJava, machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is lacking, make sees 2 and the reader a sentence without a traceback."""
    machine.setenv("JAVA_HOME", str(make_java(tmp_path / "java", online=False)))

    assert main(tmp_path / "tools") == 2

    assert capsys.readouterr().err.splitlines()[-1].startswith("The jars could not be fetched")


def test_a_machine_without_java_gets_one_inside_the_clone(
    tmp_path: Path, make_java: MakeJava, machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No Java at all is not an error: set-up installs one and goes on with it."""
    tools = tmp_path / "tools"
    machine.setattr(tools_module, "install_java", lambda folder: make_java(folder / INSTALLED))

    assert main(tools) == 0

    assert f"java: {tools / INSTALLED}" in capsys.readouterr().err


def test_make_names_the_python_it_needs(tmp_path: Path) -> None:
    """With another Python than 3.11 set-up ends with 2 and one sentence before it has made anything."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "infra" / "setup", tmp_path / "infra" / "setup")
    (tmp_path / "integrations/local_emr").mkdir(parents=True)
    shutil.copy(ROOT / "integrations/local_emr/pyproject.toml", tmp_path / "integrations/local_emr")
    make = shutil.which("make")
    assert make is not None

    ended = subprocess.run(  # noqa: S603 - our own Makefile in a folder of ours
        [make, "PYTHON=/nowhere/python3", "setup"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 2
    assert "Lakegate needs Python 3.11 (EMR 7.14's): install it, or run make PYTHON=/path/to/python3.11" in ended.stderr
    assert not (tmp_path / ".venv").exists()


def test_each_part_of_the_set_up_runs_once() -> None:
    """Parts run at once in `make test`: two of them that make the same environment would delete each other's files."""
    make = shutil.which("make")
    assert make is not None
    ended = subprocess.run(  # noqa: S603 - our own Makefile
        [make, "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    parts = re.findall(r"-m infra\.setup\.(.+)", ended.stdout)

    assert sorted(parts) == [
        "classes",
        *(f"environments {name}" for name in ("checkov", "ministack", "sam", "sbom")),
        "schemas",
        "tools",
    ]

"""The distribution local-emr-serverless: what is installed is whole, and works where nothing of this repository is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.integrations.local_emr.conftest import ROOT

PROJECT = ROOT / "integrations/local_emr"
WITHOUT_CLONE = """
import runpy, sys
sys.modules.update(dict.fromkeys(["lakegate", "infra", "functions", "spark_jobs", "tests"]))
sys.argv = ["local-emr", *sys.argv[1:]]
import local_emr.driver
print(local_emr.__file__)
runpy.run_module("local_emr", run_name="__main__", alter_sys=False)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that nothing is left in the clone."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(PROJECT, folder / "sources", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *command, str(folder / "sources")], check=True, capture_output=True)  # noqa: S603 - our own pip
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_every_file_of_the_package_and_its_command(wheel: Path) -> None:
    """Modules, the settings of Spark's log, and the marker of types."""
    files = [path for path in (PROJECT / "local_emr").iterdir() if path.is_file()]
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (commands,) = (archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))

    assert {name for name in names if ".dist-info/" not in name} == {f"local_emr/{path.name}" for path in files}
    assert commands == "[console_scripts]\nlocal-emr = local_emr.__main__:main\n"


def test_the_wheel_needs_nothing_of_this_repository(wheel: Path, tmp_path: Path) -> None:
    """All of it is imported and its options are read where the packages of the clone cannot be imported."""
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    command = [sys.executable, "-P", "-c", WITHOUT_CLONE, "--help"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - our own text

    assert ended.stdout.splitlines()[0] == str(tmp_path / "installed/local_emr/__init__.py")
    assert "usage: local-emr " in ended.stdout

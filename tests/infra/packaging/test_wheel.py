"""What `pip install` of the repository gives whoever only wants the command: pre-commit does just that."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from infra.setup.schemas import pinned_schemas

ROOT = Path(__file__).parents[3]
NAMED = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
PACKAGES = ("contracts", "engine", "functions", "spark_jobs", "infra", "cli")


def test_a_build_of_a_fresh_clone_holds_the_official_schemas(tmp_path: Path) -> None:
    """`lakegate lint` works where nobody ran make: what the repository lacks is fetched when the package is built."""
    clone, wheels = tmp_path / "clone", tmp_path / "wheels"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, clone / package, ignore=shutil.ignore_patterns("official", "__pycache__"))
    for name in NAMED:
        shutil.copy(ROOT / name, clone / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(clone)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - our own package

    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        held = {
            name.rpartition("/")[2] for name in archive.namelist() if name.startswith("contracts/schemas/official/")
        }
    assert {schema.file for schema in pinned_schemas()} == held

"""What `pip install lakegate` gives: one import package, which works beside any other package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from lakegate.infra.local.places import ROOT
from lakegate.infra.packaging.release import sources
from lakegate.infra.setup.schemas import pinned_schemas

CONTRACT = ROOT / "contracts/examples/weather.dcm.yaml"
PLAIN = ("duckdb", "jsonschema", "numpy", "pyarrow", "pyyaml", "rich", "sqlglot", "typer")
"""The libraries of the plain package, as pyproject.toml names them."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a clone that nobody has set up."""
    clone, wheels = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("wheels")
    sources(ROOT, clone, ignored=("official",))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(clone)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - our own package
    (built,) = wheels.iterdir()
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the libraries of the plain package, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    install = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, timeout=300)  # noqa: S603 - our own package
    (site,) = folder.glob("lib/python*/site-packages")
    for name in required(PLAIN):
        link(name, site)
    return python


def required(names: tuple[str, ...]) -> set[str]:
    """Distributions and all that they require on this machine, extras aside."""
    from pip._vendor.packaging.requirements import Requirement  # noqa: PLC0415 - pip has what the lock does not install

    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            needs = [Requirement(each) for each in distribution(name).requires or ()]
            todo += [each.name for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def link(name: str, site: Path) -> None:
    """Put an installed distribution into another environment."""
    for file in distribution(name).files or ():
        source = Path(str(distribution(name).locate_file(file)))
        target = site / Path(file).parts[0]
        if file.parts[0] != ".." and not target.exists():
            target.symlink_to(source.parents[len(file.parts) - 2] if len(file.parts) > 1 else source)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's folder with modules that have the names of our folders; none of them can be imported."""
    for name in ("contracts", "functions", "engine", "infra"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the module of the user')\n")
    (tmp_path / "cli.py").write_text("raise RuntimeError('the module of the user')\n")
    shutil.copy(CONTRACT, tmp_path / "weather.yaml")
    (tmp_path / "weather.csv").write_text("nothing\n1\n")
    return tmp_path


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, check=False, cwd=folder, env=bare, capture_output=True, text=True, timeout=120)  # noqa: S603 - the command is built above


def test_the_wheel_has_one_package_and_the_official_schemas(wheel: Path) -> None:
    """Nothing of it can collide with a user's module, and `lakegate lint` works where nobody ran make."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    schemas = {name.rpartition("/")[2] for name in names if name.startswith("lakegate/contracts/schemas/official/")}

    assert {name.partition("/")[0] for name in names} == {"lakegate", "lakegate-0.1.0.dist-info"}
    assert "lakegate/py.typed" in names
    assert {schema.file for schema in pinned_schemas()} == schemas


def test_the_command_works_in_a_folder_with_modules_of_the_same_names(python: Path, project: Path) -> None:
    """`lint` and `check` of an installed wheel import their own modules, also where Python searches the current folder first."""
    for command in ([python.with_name("lakegate")], [python, "-m", "lakegate.cli.main"]):
        linted = run([*command, "lint", "weather.yaml"], project)
        checked = run([*command, "check", "--contract", "weather.yaml", "weather.csv"], project)

        assert (linted.returncode, linted.stderr) == (0, "")
        assert (checked.returncode, checked.stderr) == (1, "")
        assert "the first line names none of the declared columns" in checked.stdout


def test_the_api_works_in_a_folder_with_modules_of_the_same_names(python: Path, project: Path) -> None:
    """So do `lakegate.lint` and `lakegate.check`."""
    code = "import lakegate as l; print(l.lint('weather.yaml').valid, l.check('weather.yaml', 'weather.csv').verdict.value)"

    assert run([python, "-c", code], project).stdout == "True rejected\n"


def test_a_command_of_an_extra_names_it(python: Path, project: Path) -> None:
    """The plain package has no boto3: a command that needs it says what to install."""
    ended = run([python.with_name("lakegate"), "contracts", "--stack", "shop"], project)

    assert (ended.returncode, ended.stderr) == (
        2,
        "lakegate: this command needs botocore: pip install 'lakegate[aws]'\n",
    )

"""What `pip install lakegate` gives: one import package, which works beside any other package."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml

from infra.packaging.release import build_wheel, sources
from infra.setup.environments import install
from infra.setup.schemas import pinned_schemas
from lakegate.base.extension_points import ROOT
from tests.simulation.contract import PLANS

CONTRACT = ROOT / "contracts/examples/weather.dcm.yaml"
PLAIN = ("click", "duckdb", "flatbuffers", "jinja2", "jsonschema", "numpy", "pyarrow", "pyyaml", "rich", "sqlglot")
"""The libraries of the plain package, as pyproject.toml names them."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone that nobody has set up."""
    clone = tmp_path_factory.mktemp("clone")
    sources(ROOT, clone, ignored=("official",))
    return clone


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the clone with the tools of this environment."""
    return build_wheel(clone, tmp_path_factory.mktemp("wheels"))


@pytest.mark.full  # the tools that pyproject.toml names are those of this environment (`boot.lock`)
def test_pip_builds_the_wheel_with_the_tools_that_it_names(clone: Path, wheel: Path, tmp_path: Path) -> None:
    """`pip install` of a clone fetches the tools of the build itself: the wheel has the same files."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(clone)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - our own package
    (built,) = tmp_path.iterdir()

    with zipfile.ZipFile(built) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the libraries of the plain package, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    install = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, "--no-compile", str(wheel)], check=True, capture_output=True, timeout=300)  # noqa: S603 - our own package
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


def run(command: Sequence[str | Path], folder: Path, limit: int = 120) -> subprocess.CompletedProcess[str]:
    # without LAKEGATE_FULL, too: what a run inside of this one repeats has the numbers of the gate
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LAKEGATE"))}
    return subprocess.run(command, check=False, cwd=folder, env=bare, capture_output=True, text=True, timeout=limit)  # noqa: S603 - the command is built above


def test_the_wheel_has_one_package_and_the_official_schemas(wheel: Path) -> None:
    """Nothing of it can collide with a user's module, and `lakegate lint` works where nobody ran make."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    schemas = {name.rpartition("/")[2] for name in names if name.startswith("lakegate/schemas/official/")}

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
    """The plain package has no boto3: a command that needs it names what to install."""
    ended = run([python.with_name("lakegate"), "contracts", "--stack", "shop"], project)

    assert (ended.returncode, ended.stderr) == (
        2,
        "lakegate: this command needs botocore: pip install 'WHEEL[aws]', where WHEEL is the wheel or the clone of Lakegate\n",
    )


def test_the_local_stack_is_for_a_clone(python: Path, project: Path) -> None:
    """An installed package has no programs for it, and says so; a user's module of the same name is not imported."""
    ended = run([python, "-m", "lakegate.cli.main", "demo"], project)
    completed = run([python.with_name("lakegate"), "local", "up"], project)

    assert (ended.returncode, ended.stderr) == (
        2,
        "lakegate: `lakegate demo` runs programs of a clone of Lakegate, and this is an installed package.\n",
    )
    assert completed.returncode == 2
    assert completed.stderr.startswith("lakegate: `lakegate local` runs programs of a clone")


def test_the_job_of_the_page_compares_contracts(wheel: Path, python: Path, tmp_path: Path) -> None:
    """The steps of docs/compatibility.md, in the environment that its first step makes: the plain package, without AWS."""
    (page,) = re.findall(r"```yaml\n(name: contracts\n.*?)```", (ROOT / "docs/compatibility.md").read_text(), re.DOTALL)
    install, compare = (step for step in yaml.safe_load(page)["jobs"]["compare"]["steps"] if "run" in step)
    summary = tmp_path / "summary.md"
    path = f"{python.parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "PIP_NO_INDEX": "1", "LAKEGATE": str(wheel), "GITHUB_STEP_SUMMARY": str(summary)}
    environment |= {"HOME": str(tmp_path), "PIP_ROOT_USER_ACTION": "ignore"}

    def shell(text: str, **more: str) -> int:
        command = ["bash", "-e", "-o", "pipefail", "-c", text]
        return subprocess.run(command, check=False, cwd=tmp_path, env=environment | more, timeout=120).returncode  # noqa: S603 - steps of our page

    subprocess.run([sys.executable, "-m", "venv", "--upgrade", python.parent.parent], check=True, timeout=120)  # noqa: S603 - the page's pip
    assert (
        shell("git init -q . && git config user.name n && git config user.email e@example.com && mkdir contracts") == 0
    )
    contract = tmp_path / "contracts/orders.yaml"
    text = (ROOT / "contracts/examples/orders.odcs.yaml").read_text()
    contract.write_text(text)
    assert shell("git add contracts && git commit -qm base && git tag base") == 0
    assert shell(install["run"]) == 0

    contract.write_text(text.replace("version: 1.0.0", "version: 1.0.1"))
    assert (shell("git commit -qam fix"), shell(compare["run"], BASE="base")) == (0, 0)
    assert summary.read_text() == "**No change \\(1\\.0\\.0 → 1\\.0\\.1\\)\\.**\n"
    contract.write_text(text.replace("version: 1.0.0", "version: 1.0.1").replace("name: quantity", "name: number"))
    assert (shell("git commit -qam rename"), shell(compare["run"], BASE="base")) == (0, 1)
    assert "The changes need MAJOR" in summary.read_text()


MATRIX = {
    "oldest": ("duckdb==2.0.0", "numpy==2.3.0", "pyarrow==25.0.0", "awswrangler", "pandas"),
    "newest": ("duckdb", "numpy", "pyarrow", "pandas"),
}
"""The ends of the ranges in pyproject.toml, with neighbours that need them."""
NEW_ARROW = "not (lists_in_slices or written_again)"
"""Tests with lists of a fixed size that have nulls, which pyarrow reads from 26 on."""


@pytest.mark.full
@pytest.mark.parametrize("end", MATRIX)
def test_the_plain_package_works_with_the_oldest_and_newest_libraries(end: str, wheel: Path, tmp_path: Path) -> None:
    """They resolve beside pandas and awswrangler, and tests of the engine pass with them."""
    uv, environment = install("uv") / "bin/uv", tmp_path / "environment"
    python = environment / "bin/python"
    tools = [f"{name}=={distribution(name).version}" for name in ("pytest", "hypothesis", "pytest-xdist", "botocore")]
    for command in (
        [uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, environment],
        [uv, "pip", "install", "--quiet", "--python", python, *sources_of_wheels(), wheel, *MATRIX[end], *tools],
    ):
        ended = run(command, tmp_path, 600)
        assert ended.returncode == 0, ended.stderr
    (site,) = environment.glob("lib/python*/site-packages")
    shutil.rmtree(site / "lakegate")
    places = [ROOT / ".cache/types", ROOT]
    (site / "lakegate.pth").write_text("\n".join(map(str, places)))  # the tests read files of the clone
    tests = [*(f"tests/unit/engine/{name}" for name in ("read", "evaluate")), "tests/unit/patterns", "tests/unit/rules"]
    options = ("-q", "-p", "no:cacheprovider", "-n", "2", "-m", "not full", "-k", NEW_ARROW)
    ended = run([python, "-P", "-m", "pytest", *options, *tests], ROOT, 1_800)

    assert ended.returncode == 0, ended.stdout[-4_000:]


OTHERS = ("3.12", "3.13")
"""Versions of Python that the plain package supports beside the project's own."""


def other_python(version: str) -> str:
    """The path of a Python of another version; the test is skipped where this machine has none."""
    found = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for each in map(str, filter(None, found)):
        ended = subprocess.run([each, "-c", "import venv"], check=False, capture_output=True)  # noqa: S603 - a Python
        if not ended.returncode:
            return each
    pytest.skip(f"this machine has no Python {version}")


@pytest.mark.parametrize("version", OTHERS)
def test_plans_are_read_by_other_pythons(version: str) -> None:
    """Among them the Python of the functions: the codec is made of type hints, which versions of Python represent otherwise."""
    read = "import sys; from lakegate.plan.plan import Plan; print(Plan.from_bytes(sys.argv[1].encode()).to_bytes().decode())"
    plan = PLANS["1.0.0"].decode()

    assert run([other_python(version), "-S", "-c", read, plan], ROOT).stdout.strip() == plan


@pytest.mark.full
@pytest.mark.parametrize("version", OTHERS)
def test_the_plain_package_works_with_other_pythons(version: str, wheel: Path, project: Path, tmp_path: Path) -> None:
    """`lint` and `check` of the wheel, with the libraries that it requires, in a folder with modules of its names."""
    uv, environment = install("uv") / "bin/uv", tmp_path / "environment"
    python = environment / "bin/python"
    for command in (
        [uv, "venv", "--quiet", "--no-python-downloads", "--python", other_python(version), environment],
        [uv, "pip", "install", "--quiet", "--python", python, *sources_of_wheels(), wheel],
    ):
        ended = run(command, tmp_path, 600)
        assert ended.returncode == 0, ended.stderr
    lakegate = python.with_name("lakegate")

    linted = run([lakegate, "lint", "weather.yaml"], project)
    checked = run([lakegate, "check", "--contract", "weather.yaml", "weather.csv"], project)

    assert run([python, "-c", "import sys; print(sys.version)"], project).stdout.startswith(version)
    assert (linted.returncode, linted.stderr) == (0, "")
    assert (checked.returncode, checked.stderr) == (1, "")
    assert "the first line names none of the declared columns" in checked.stdout


def sources_of_wheels() -> list[str]:
    """Where pip finds packages on this machine, as options of uv, which does not read pip's settings."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True)
    settings = dict(line.partition("=")[::2] for line in listed.stdout.splitlines())
    found = []
    for name, option in (("index-url", "--default-index"), ("find-links", "--find-links")):
        values = [shlex.split(value)[0] for key, value in settings.items() if key.rpartition(".")[2] == name]
        found += [word for value in values for each in value.split() for word in (option, each)]
    return found

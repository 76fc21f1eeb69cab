"""All code is imported as `lakegate`, and the plain package needs no library of an extra."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from lakegate.infra.local.places import ROOT

FOLDERS = {"contracts", "engine", "functions", "spark_jobs", "cli", "infra"}
EXTRAS = {
    "aws": ("aws_lambda_powertools", "boto3", "botocore"),
    "spark": ("py4j", "pydeequ", "pyspark"),
}
RUN = """
import sys
sys.modules.update(dict.fromkeys({!r}))
sys.argv = {!r}
from lakegate.cli.main import main
main()
"""


def without(extra: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process where no library of an extra can be imported."""
    code = RUN.format(EXTRAS[extra], ["lakegate", *arguments])
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)  # noqa: S603 - our own text


def test_no_module_is_imported_by_the_name_of_its_folder() -> None:
    """`import contracts` would be a second copy of `lakegate.contracts`, and fails where only the wheel is installed."""
    wrong = []
    for path in [
        *ROOT.glob("*.py"),
        *(each for top in (*FOLDERS, "lakegate", "tests") for each in (ROOT / top).rglob("*.py")),
    ]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [f"{path.relative_to(ROOT)}: {name}" for name in names if name.partition(".")[0] in FOLDERS]

    assert wrong == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_plain_command_needs_no_extra(extra: str) -> None:
    """`lint` and `check` run where only the plain package is installed."""
    contract = str(ROOT / "contracts/examples/weather.dcm.yaml")

    assert without(extra, "lint", contract).returncode == 0
    assert without(extra, "check", "--contract", contract, contract).stderr.count("Traceback") == 0


@pytest.mark.parametrize(
    ("extra", "library", "arguments"),
    [
        ("aws", "botocore", ("contracts", "--stack", "shop")),
        ("spark", "py", ("check", "--engine", "spark", "--contract", "{contract}", "{contract}")),
    ],
)
def test_a_command_names_the_extra_that_it_needs(extra: str, library: str, arguments: tuple[str, ...]) -> None:
    """A library that is not installed is one sentence with the extra that has it, and exit code 2."""
    contract = str(ROOT / "contracts/examples/weather.dcm.yaml")
    ended = without(extra, *(each.format(contract=contract) for each in arguments))

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"lakegate: this command needs {library}")
    assert ended.stderr.endswith(f": pip install 'lakegate[{extra}]'\n")

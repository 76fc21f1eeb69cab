"""The plain package needs no library of an extra, and no other code of the clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT
from tests.unit.repository.layers import imported, product

CLONE = {"functions", "spark_jobs", "infra", "tests"}
EXTRAS = {
    "aws": ("aws_lambda_powertools", "boto3", "botocore"),
    "spark": ("py4j", "pydeequ", "pyspark"),
}
CONTRACT = str(ROOT / "contracts/examples/orders.odcs.yaml")
RUN = """
import sys
sys.modules.update(dict.fromkeys({!r}))
from lakegate.cli.main import main
for arguments in {!r}:
    sys.argv = ["lakegate", *arguments]
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    print(arguments[0], "ends with", code, flush=True)
sys.exit(code)
"""


def without(libraries: tuple[str, ...], *commands: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Commands in a process where these libraries cannot be imported; it ends with the code of the last one."""
    code = RUN.format(libraries, commands)
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)  # noqa: S603 - our own text


def test_the_package_imports_nothing_that_only_a_clone_has() -> None:
    """Where the wheel alone is installed there are no handlers, no entry points of the job, no infra and no tests."""
    imports = {(str(file), name) for file in product() if file.parts[0] == "lakegate" for name in imported(file)}

    assert {(file, name) for file, name in imports if name.partition(".")[0] in CLONE} == set()


def test_the_plain_commands_need_no_extra(tmp_path: Path) -> None:
    """`lint` and `check` run where only the plain package is installed."""
    data = tmp_path / "data.csv"
    data.write_text("order_id\n1\n")
    ended = without(sum(EXTRAS.values(), ()), ("lint", CONTRACT), ("check", "--contract", CONTRACT, str(data)))

    assert (ended.returncode, ended.stderr) == (1, "")
    assert "lint ends with 0\n" in ended.stdout
    assert "Rejected" in ended.stdout.partition("lint ends with 0\n")[2]


def test_versions_in_files_are_compared_without_aws(tmp_path: Path) -> None:
    """`diff` needs AWS for CONTRACT@VERSION alone."""
    text = (ROOT / "contracts/examples/orders.odcs.yaml").read_text()
    (tmp_path / "new.yaml").write_text(text.replace("version: 1.0.0", "version: 1.0.1"))
    ended = without(EXTRAS["aws"], ("diff", "--enforce", CONTRACT, str(tmp_path / "new.yaml")))
    published = without(EXTRAS["aws"], ("diff", "orders@1.0.0", CONTRACT))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "No change (1.0.0 → 1.0.1).\ndiff ends with 0\n"
    assert (published.returncode, published.stderr) == (
        2,
        "lakegate: this command needs botocore: pip install 'WHEEL[aws]', where WHEEL is the wheel or the clone of Lakegate\n",
    )


def test_the_http_api_is_reached_with_a_token_and_without_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only signing by IAM needs a library of AWS."""
    monkeypatch.setenv("LAKEGATE_TOKEN", "token")
    ended = without(EXTRAS["aws"], ("contracts", "--api", "http://127.0.0.1:1"))

    assert (ended.returncode, ended.stdout) == (2, "contracts ends with 2\n")
    assert ended.stderr.startswith("lakegate: the API")


def test_a_parent_in_the_registry_names_the_extra_that_reads_it(tmp_path: Path) -> None:
    """`lint` of a document that inherits ends with its own error where the library of AWS is not installed."""
    child = shutil.copy(ROOT / "contracts/examples/inheritance/purchases.odcs.yaml", tmp_path)
    ended = without(EXTRAS["aws"], ("lint", str(child)))

    assert (ended.returncode, ended.stderr) == (1, "")
    assert "pip install 'WHEEL[aws]', where WHEEL is the wheel or the clone of Lakegate" in ended.stdout


@pytest.mark.parametrize(
    ("extra", "library", "arguments"),
    [
        ("aws", "botocore", ("contracts", "--stack", "shop")),
        ("spark", "py", ("check", "--engine", "spark", "--contract", "{contract}", "{contract}")),
    ],
)
def test_a_command_names_the_extra_that_it_needs(extra: str, library: str, arguments: tuple[str, ...]) -> None:
    """A library that is not installed is one sentence with the extra that has it, and exit code 2."""
    ended = without(EXTRAS[extra], tuple(each.format(contract=CONTRACT) for each in arguments))

    assert (ended.returncode, ended.stdout) == (2, f"{arguments[0]} ends with 2\n")
    assert ended.stderr.startswith(f"lakegate: this command needs {library}")
    assert ended.stderr.endswith(f": pip install 'WHEEL[{extra}]', where WHEEL is the wheel or the clone of Lakegate\n")


@pytest.mark.parametrize("form", ["--json", "--format=markdown"])
def test_a_closed_pipe_is_no_rejection(form: str, tmp_path: Path) -> None:
    """A reader that has ended gives 141, as for every program: 1 would be "rejected"."""
    data = tmp_path / "data.csv"
    data.write_text("order_id\n1\n")
    command = f"'{sys.executable}' -m lakegate.cli.main check --contract '{CONTRACT}' '{data}' {form}"
    missing = command.replace("data.csv", "none.csv")
    shell = f"{command} | true; echo ${{PIPESTATUS[0]}}; {missing} 2>&1 >/dev/null | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", shell], check=False, capture_output=True, text=True)  # noqa: S603, S607 - our own text

    assert (ended.stdout, ended.stderr) == ("141\n141\n", "")

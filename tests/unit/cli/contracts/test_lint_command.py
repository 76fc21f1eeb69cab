"""`lakegate lint`: what a person and a machine read, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from lakegate.base.errors import SetUpError
from lakegate.base.text import printable as escaped
from lakegate.cli import main
from lakegate.cli.main import app

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "contracts/examples"
WEATHER = (EXAMPLES / "weather.dcm.yaml").read_text()
BROKEN = WEATHER.replace("version: 1.0.0", "version: 1.0").replace("type: unique", "type: uniq")
NEEDED_BY_NO_START = ("pyspark", "pandas", "pydeequ", "boto3", "jsonschema", "yaml", "rich.console")


def run(*arguments: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["lint", *arguments], input=text)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


def test_a_valid_contract_ends_in_zero() -> None:
    """Warnings refuse nothing."""
    result = run(str(EXAMPLES / "weather.dcm.yaml"))

    assert result.exit_code == 0
    assert "valid (0 errors, 6 warnings)" in result.stdout


def test_a_broken_contract_ends_in_one_with_its_lines(broken: Path) -> None:
    """Each mistake is shown with code, line, the line itself, and its correction."""
    result = run(str(broken))
    expected = [
        f"{broken}:6: error wrong-type",
        "    Write a text here, not a number: put it in quotes. @ $.version",
        "    6 | version: 1.0",
        f"{broken}:54: error not-allowed",
    ]

    assert result.exit_code == 1
    assert expected == result.stdout.splitlines()[:4]
    assert result.stdout.splitlines()[-1] == f"{broken}: refused (2 errors, 6 warnings)"


def test_machines_get_one_json_document(broken: Path) -> None:
    """`--json` prints valid, errors and warnings, each problem with five keys, and nothing else."""
    result = run("--json", str(broken))
    report = json.loads(result.stdout)

    assert result.exit_code == 1
    assert list(report) == ["valid", "errors", "warnings"]
    assert {key: value for key, value in report["errors"][0].items() if key != "message"} == {
        "code": "wrong-type",
        "path": "$.version",
        "line": 6,
        "column": 1,
    }


def test_of_several_documents_each_problem_names_its_file(broken: Path) -> None:
    """One broken document refuses the run, and is named."""
    result = run("--json", str(broken), str(EXAMPLES / "orders.odcs.yaml"))
    report = json.loads(result.stdout)

    assert (result.exit_code, report["valid"]) == (1, False)
    assert {str(broken)} == {problem["file"] for problem in report["errors"]}


def test_standard_input_is_a_document() -> None:
    """`-` reads what is piped in."""
    assert (run("-", text=WEATHER).exit_code, run("-", text=BROKEN).exit_code) == (0, 1)


def test_a_folder_is_searched(tmp_path: Path, broken: Path) -> None:
    """Contracts in a folder and below it are judged; what is not a contract is passed over and named; hidden ones are left."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/good.yml").write_text(WEATHER)
    (tmp_path / "deep/deployment.yaml").write_text("apiVersion: v1\nkind: Deployment\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/hidden.yaml").write_text(BROKEN)
    result = run(str(tmp_path))
    summaries = [line for line in result.stdout.splitlines() if " errors, " in line]

    assert result.exit_code == 1
    assert [f"{broken}: refused", f"{tmp_path}/deep/good.yml: valid"] == [line.split(" (")[0] for line in summaries]
    assert "deployment.yaml is not a contract, passed over" in result.stderr


@pytest.mark.parametrize("names", [[], ["notes.txt"], ["deployment.yaml"]])
def test_a_folder_without_contracts_is_a_usage_error(tmp_path: Path, names: list[str]) -> None:
    """Nothing judged is not success."""
    for name in names:
        (tmp_path / name).write_text("a: 1")

    assert run(str(tmp_path)).exit_code == 2


def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path: Path) -> None:
    """A missing file ends in 2, whatever stands beside it, and the rest is judged."""
    result = run(str(tmp_path / "no.yaml"), str(EXAMPLES / "orders.odcs.yaml"))

    assert result.exit_code == 2
    assert f"lakegate: {tmp_path}/no.yaml cannot be read: No such file or directory.\n" == result.stderr
    assert "orders.odcs.yaml: valid" in result.stdout


@pytest.mark.parametrize("name", ["a\0b", "x" * 5_000, "", "/dev/null/x"])
def test_an_impossible_name_is_no_traceback(name: str) -> None:
    """Whatever a person types, the answer is a sentence and 2."""
    result = run(name)

    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"\x7fELF" + bytes(200), b"[" * 100_000, b"", b"x" * 2_000_000])
def test_a_binary_is_refused_with_its_line(content: bytes) -> None:
    """What is not a text is refused like any other document."""
    result = run("--json", "-", text=content)

    assert result.exit_code == 1
    assert json.loads(result.stdout)["errors"][0]["line"] == 1


def test_an_endless_file_is_read_no_further_than_needed() -> None:
    """A device that never ends is a document that is too large."""
    result = run("/dev/zero")

    assert result.exit_code == 1
    assert "document-too-large" in result.stdout


def test_a_contract_cannot_write_on_the_terminal() -> None:
    """Escapes, line breaks and markup of a document are shown, never obeyed."""
    text = WEATHER.replace("type: unique", r'type: "[red]\e[31m\n\u202e"')
    result = run("-", text=text)

    assert r"`[red]\x1b[31m\n\u202e`" in result.stdout
    assert "\x1b" not in result.stdout


def test_what_is_not_printed_is_shown_as_an_escape() -> None:
    """Tabs become spaces; file names that are no UTF-8 can be shown too."""
    assert escaped("a\té\0\udcff\u200b") == r"a  é\x00\udcff\u200b"


@pytest.mark.parametrize(
    ("error", "code"),
    [(SetUpError("The schema is missing: run make setup."), 2), (KeyboardInterrupt(), 130), (BrokenPipeError(), 141)],
)
def test_the_end_of_every_command_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    """What a person can cause ends in an exit code, never in a traceback."""

    def fail(**_: object) -> None:
        raise error

    stderr = io.StringIO()
    monkeypatch.setattr(main.app, "main", fail)
    monkeypatch.setattr(sys, "stderr", stderr)
    with pytest.raises(SystemExit) as end:
        main.main()

    assert code == end.value.code


def test_the_command_starts_without_what_it_does_not_need() -> None:
    """No command pays for the libraries of another."""
    script = (
        "import sys; from lakegate.cli.main import main\n"
        "sys.argv[1:] = ['--version']\ntry: main()\nexcept SystemExit: pass\n"
    )
    script += f"print([name for name in {NEEDED_BY_NO_START!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": "."}
    done = subprocess.run(  # noqa: S603 -- this Python, with the script above
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.startswith("lakegate 0.")


def test_a_folder_leads_to_its_own_files_alone(tmp_path: Path) -> None:
    """A pipe in it keeps nobody waiting, and a link out of it shows no line of what it leads to."""
    folder, secret = tmp_path / "contracts", tmp_path / "secret.yaml"
    folder.mkdir()
    secret.write_text("password: hunter2\n")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "link.yaml").symlink_to(secret)
    (folder / "nowhere.yaml").symlink_to(tmp_path / "nothing")
    (folder / "inside.yaml").write_text("a: [\n")
    (folder / "own.yaml").symlink_to(folder / "inside.yaml")
    result = CliRunner().invoke(app, ["lint", str(folder)])

    assert "hunter2" not in result.output
    for name, why in (("pipe", "is no file"), ("nowhere", "is no file"), ("link", "is a link that leaves the folder")):
        assert f"{folder}/{name}.yaml {why}, passed over" in result.output
    assert "inside.yaml" in result.output
    assert "own.yaml" in result.output


@pytest.mark.parametrize(
    "name", ["datacontract.yaml", "shop-datacontract.yml", "shop.odcs.yaml", "shop.dcs.json", "x.dcm.yaml"]
)
def test_a_file_whose_name_says_that_it_is_a_contract_is_judged(tmp_path: Path, name: str) -> None:
    """Also where the key of its format is misspelt, beside another contract, with every option."""
    (tmp_path / "ok.yaml").write_bytes((ROOT / "contracts/examples/orders.odcs.yaml").read_bytes())
    (tmp_path / name).write_text("{dataContractSpecificaton: 1.1.0, id: x}")
    (tmp_path / "other.yaml").write_text("{a: 1}")
    for options in ([], ["--strict"], ["--only-contracts"]):
        found = CliRunner().invoke(app, ["lint", "--json", str(tmp_path), *options])
        (error,) = json.loads(found.stdout)["errors"]

        assert found.exit_code == 1
        assert (error["code"], error["path"]) == ("unknown-format", "$.dataContractSpecificaton")
        assert "Did you mean `dataContractSpecification`?" in error["message"]
        assert "other.yaml is not a contract, passed over" in found.stderr

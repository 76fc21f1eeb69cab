"""`lakegate use`: the stack that commands ask where they are not told."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lakegate.aws.open_stack import DEFAULT_STACK, RememberedName, enter_stack
from lakegate.base.errors import InputError
from lakegate.cli import remembered_stack
from lakegate.cli.main import app
from lakegate.cli.remembered_stack import RememberedStack
from tests.unit.cli.conftest import Lakegate


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this test's person."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings/lakegate/stack.json"


def use(*words: str) -> str:
    result = CliRunner().invoke(app, ["use", *words])
    assert result.exception is None, result.exception
    return " ".join(result.output.split())


def test_it_is_remembered_shown_and_forgotten(file: Path) -> None:
    """The local stack, a stack by its name, none."""
    nothing = "No stack is remembered: commands ask the stack lakegate, or the one that they are told."

    assert use() == nothing
    assert use("local").startswith("Commands ask the local stack (")
    assert json.loads(file.read_text()) == {"stack": "", "local": True}
    assert use("lake-prod").startswith("Commands ask the stack lake-prod (")
    assert use().startswith("Commands ask the stack lake-prod (")
    assert json.loads(use("--json")) == {"used": {"stack": "lake-prod", "local": False}, "file": str(file)}
    assert use("none") == use("none") == nothing
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["", "-x", "a b", "../x", "a\x1b[31m", "ä", "1a"])
def test_what_is_no_name_of_a_stack_is_refused(name: str, file: Path) -> None:
    """Nothing is written."""
    result = CliRunner().invoke(app, ["use", "--", name])

    assert isinstance(result.exception, InputError)
    assert "is no name of a stack" in str(result.exception)
    assert not file.exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"stack": 1, "local": true}', '{"stack": "a", "local": "no"}', "\xff"]
)
def test_a_file_of_something_else_is_named(text: str, file: Path) -> None:
    """With the remedy, which works."""
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("latin-1"))
    result = CliRunner().invoke(app, ["status"])

    assert str(result.exception) == f"{file} cannot be read: `lakegate use none` removes it"
    use("none")
    assert remembered_stack.read() is None


def test_a_file_that_cannot_be_written_is_named(file: Path) -> None:
    """In one sentence."""
    file.parent.parent.write_text("no folder")

    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        remembered_stack.write(RememberedStack("a", local=False))


def test_a_command_says_which_stack_it_asks(lakegate: Lakegate, file: Path) -> None:
    """Where it comes from memory, once, on standard error; its documents and what it prints stay as they are."""
    told = lakegate("status", "--json")
    use(DEFAULT_STACK)
    remembered = lakegate("status", "--json")

    assert (told.stderr, remembered.stderr) == ("", "lakegate: asks the stack lakegate (`lakegate use`)\n")
    assert told.stdout == remembered.stdout
    assert file.exists()


@pytest.mark.parametrize(
    ("words", "variables", "asked"),
    [
        ([], {}, "there is no stack other in"),
        (["--stack", "mine"], {}, "there is no stack mine in"),
        ([], {"LAKEGATE_STACK": "mine"}, "there is no stack mine in"),
        (["--local"], {}, "the local stack is not up"),
        ([], {"LAKEGATE_LOCAL": "1"}, "the local stack is not up"),
        (["--api", "https://127.0.0.1:1"], {}, "does not answer"),
        ([], {"LAKEGATE_API": "https://127.0.0.1:1"}, "does not answer"),
    ],
)
@pytest.mark.usefixtures("lakegate")
def test_options_and_variables_win(
    words: list[str], variables: dict[str, str], asked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also one of those that say nothing of a name."""
    use("other")
    monkeypatch.setenv("LAKEGATE_TOKEN", "token")
    monkeypatch.setenv("LAKEGATE_LOCAL_STATE", str(tmp_path / "none.json"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, ["status", "0" * 64, *words])

    assert asked in str(result.exception)
    assert ("(`lakegate use`)" in result.stderr) == (not words and not variables)


def test_the_local_stack_is_asked_as_with_its_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what makes or changes a stack in an account is always told."""
    use("local")
    monkeypatch.setenv("LAKEGATE_LOCAL_STATE", str(tmp_path / "none.json"))
    status, deploy = (
        CliRunner().invoke(app, words) for words in (["status"], ["stack", "deploy", "--from", "nowhere"])
    )

    assert str(status.exception).startswith("the local stack is not up (")
    assert "local stack" not in str(deploy.exception)


def test_a_command_of_files_says_nothing(tmp_path: Path) -> None:
    """It asks no stack."""
    use("other")
    (tmp_path / "a.yaml").write_text("apiVersion: v3.1.0\nkind: DataContract\nid: a\nversion: 1.0.0\nstatus: draft\n")
    result = CliRunner().invoke(app, ["lint", str(tmp_path / "a.yaml")])

    assert result.stderr == ""


def test_a_remembered_name_is_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told once, however often it is asked."""
    name = RememberedName("lake")
    assert [enter_stack(name, local=False), enter_stack(name, local=False)] == ["lake", "lake"]

    assert capsys.readouterr().err == "lakegate: asks the stack lake (`lakegate use`)\n"


def test_without_a_folder_for_settings_the_platform_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every program."""
    monkeypatch.delenv("XDG_CONFIG_HOME")

    assert remembered_stack.place() == Path(click.get_app_dir("lakegate")) / "stack.json"

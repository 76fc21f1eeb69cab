"""Completion of the command line in bash, zsh and fish, and what it imports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lakegate.base.extension_points import ROOT
from lakegate.cli.main import COMMANDS, GROUPS, app

COMPLETE = """
import json, sys
sys.modules.update(dict.fromkeys({hidden!r}))
sys.argv = ["lakegate", *{arguments!r}]
from lakegate.cli.main import main
try: main()
except SystemExit: pass
sys.stderr.write(json.dumps(sorted(each for each in sys.modules if each.startswith("lakegate.cli."))))
"""
AWS = ("aws_lambda_powertools", "boto3", "botocore")
WITH_RE = ("retire", "reactivate", "reasons", "recall", "replay", "resume", "redrive", "report", "restore")
FRAME = {f"lakegate.cli.{name}" for name in ("click_commands", "main", "remembered_stack", "terminal")}
"""What every command imports."""


def run(environment: dict[str, str], *arguments: str, hidden: tuple[str, ...] = ()) -> tuple[str, str]:
    """Output and error output of the command; the latter ends with the modules of the command that were imported."""
    ended = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", COMPLETE.format(hidden=hidden, arguments=arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    return ended.stdout, ended.stderr


def completed(shell: str, line: str, **more: str) -> tuple[str, set[str]]:
    """What a shell is answered for a line that ends at the cursor, and the imported modules of the command."""
    words = line.split(" ")
    output, imported = run(
        {
            "_LAKEGATE_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
            **more,
        }
    )
    return output, set(json.loads(imported))


@pytest.mark.parametrize(
    ("shell", "answer"),
    [
        ("bash", [f"plain,{name}" for name in WITH_RE]),
        ("zsh", [word for name in WITH_RE for word in ("plain", name, "_")]),
        ("fish", [f"plain,{name}" for name in WITH_RE]),
    ],
)
def test_names_of_commands_are_completed_without_their_modules(shell: str, answer: list[str]) -> None:
    """A command is found by its first letters, at the price of no command's imports."""
    output, imported = completed(shell, "lakegate re")

    assert (sorted(output.splitlines()), imported) == (sorted(answer), FRAME)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: str) -> None:
    """Without a first letter all commands are offered."""
    output, _ = completed(shell, "lakegate ")

    assert [name for name in COMMANDS if name not in output] == []


@pytest.mark.parametrize(
    ("shell", "answer"),
    [
        ("bash", "plain,--json\n"),
        ("zsh", "plain\n--json\nOne JSON document on standard output.\n"),
        ("fish", "plain,--json\tOne JSON document on standard output.\n"),
    ],
)
def test_options_of_a_command_are_completed(shell: str, answer: str) -> None:
    """An option is found by its first letters; only the module of its command is imported, with what that one needs."""
    output, imported = completed(shell, "lakegate plan --js")

    assert output == answer
    assert {"lakegate.cli.contracts.plan_command", "lakegate.cli.contracts.check_command"} & imported == {
        "lakegate.cli.contracts.plan_command"
    }


def test_commands_and_options_of_a_group_are_completed() -> None:
    """Groups are completed like commands."""
    commands, _ = completed("bash", "lakegate route a")
    options, _ = completed("bash", "lakegate route add --y")

    assert (commands, options) == ("plain,add\n", "plain,--yes\n")


def test_values_of_an_option_are_completed() -> None:
    """An option that takes one of several words offers them."""
    output, _ = completed("bash", "lakegate check --engine s")

    assert output == "plain,spark\n"


def test_files_are_completed_by_the_shell() -> None:
    """Where a command takes a file, the shell is told to offer files."""
    texts, _ = completed("bash", "lakegate lint con")
    paths, _ = completed("zsh", "lakegate plan con")

    assert (texts, paths) == ("file,con\n", "file\ncon\n_\n")


def test_completion_needs_no_library_of_a_command(tmp_path: Path) -> None:
    """Options are completed where only the plain package is installed, and nothing disturbs the prompt."""
    environment = {"_LAKEGATE_COMPLETE": "bash_complete", "COMP_WORDS": "lakegate publish --", "COMP_CWORD": "2"}

    output, error = run({**environment, "HOME": str(tmp_path)}, hidden=AWS)

    assert {"--stack", "--dry-run", "--help"} <= set(output.replace("plain,", "").split())
    assert error.startswith("[")


def test_help_of_the_plain_package_is_that_of_the_whole_one() -> None:
    """`lakegate --help` groups and describes every command, whatever is installed."""
    plain, _ = run({"COLUMNS": "120"}, "--help", hidden=AWS)
    whole, _ = run({"COLUMNS": "120"}, "--help")

    assert plain == whole
    assert re.findall(r"^(\w.*):$", whole, re.MULTILINE) == ["Options", *GROUPS]
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +[A-Z]\w+", whole, re.MULTILINE)] == []


def test_help_has_the_description_that_each_command_has_itself() -> None:
    """It is read from the source: the modules of the commands are not imported, and neither are their libraries."""
    output, imported = run({"COLUMNS": "200"}, "--help", hidden=(*AWS, "duckdb", "numpy", "pyarrow", "sqlglot"))
    listed = {name: re.search(rf"^  {name} +(\S.*(?:\n {{10,}}.*)*)", output, re.MULTILINE) for name in COMMANDS}
    context = click.Context(app)
    found = {name: app.get_command(context, name) for name in COMMANDS}
    own = {name: each.help or "" if each else "" for name, each in found.items()}

    assert {name: " ".join(found[1].split()) if found else "" for name, found in listed.items()} == {
        name: " ".join(text.split("\n\n")[0].split()) for name, text in own.items()
    }
    folders = {f"lakegate.cli.{each.name}" for each in (ROOT / "lakegate/cli").iterdir() if each.is_dir()}
    assert set(json.loads(imported)) - folders == FRAME


def test_bash_completes_with_the_script_that_the_command_prints() -> None:
    """The script is valid, and its function fills the replies of bash."""
    shell, programs = shutil.which("bash"), Path(sys.executable).parent
    assert shell is not None
    lines = (
        'eval "$(lakegate --completion bash)"',
        "COMP_WORDS=(lakegate che) COMP_CWORD=1",
        "_lakegate_completion lakegate",
        'echo "${COMPREPLY[*]}"',
        "complete -p lakegate",
    )

    ended = subprocess.run(  # noqa: S603 - our own text
        [shell, "--norc", "-c", "\n".join(lines)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
    )

    assert (ended.stdout, ended.stderr) == ("check\ncomplete -o nosort -F _lakegate_completion lakegate\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_a_shell_is_printed(shell: str) -> None:
    """Packagers can install the script without a terminal."""
    output, _ = run({}, "--completion", shell)

    assert f"{shell}_complete" in output

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra.local import local_stack
from infra.local.local_stack import Stack, StackOptions
from lakegate.base.errors import InputError, SetUpError
from lakegate.cli.main import app

WAIT = "import signal; signal.pause()"
EMR = f'print(\'{{"endpoint": "http://127.0.0.1:9"}}\', flush=True); {WAIT}'
"""A replacement of the local EMR Serverless: it prints its address, and waits."""


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack whose two programs do nothing, and that is deployed in no time."""
    programs = local_stack
    monkeypatch.setenv("LAKEGATE_LOCAL_STATE", str(tmp_path / "local.json"))
    monkeypatch.setattr(programs, "examine", lambda: None)
    monkeypatch.setattr(programs, "emr_command", lambda *_: [sys.executable, "-c", EMR])
    monkeypatch.setattr(programs, "aws_command", lambda *_: [sys.executable, "-c", WAIT])
    monkeypatch.setattr(local_stack, "deploy", lambda *_: {"ApiId": "1f2e3d4c"})
    for name in ("bundle", "make_bucket", "warm_functions", "warm_spark"):
        monkeypatch.setattr(local_stack, name, lambda *_: {})
    monkeypatch.setattr(local_stack, "_answers", lambda _: True)
    one = Stack()
    yield one
    one.down()


def pids(stack: Stack) -> list[int | None]:
    return [each.pid() for each in stack.daemons]


def test_up_starts_both_programs_and_returns_their_addresses(stack: Stack) -> None:
    """The state is written when everything is there, and any command finds it."""
    steps: list[str] = []
    state = stack.up(StackOptions(), steps.append)

    assert state == stack.found()
    assert [state.pids["emr"], state.pids["aws"]] == pids(stack)
    assert (state.emr_endpoint, "http://127.0.0.1:") == ("http://127.0.0.1:9", state.endpoint[:17])
    assert state.api == f"{state.endpoint}/_aws/execute-api/1f2e3d4c"
    assert steps[:2] == ["starting the embedded AWS and the local EMR Serverless", "deploying template.yaml with SAM"]


def test_up_again_changes_nothing(stack: Stack) -> None:
    """A stack that is up stays as it is, with all that lies in it."""
    assert stack.up(StackOptions()) == stack.up(StackOptions(port=1))


def test_up_starts_a_dead_emr_serverless_alone(stack: Stack) -> None:
    """At its address, beside the AWS as it is; the state names the new process."""
    first = stack.up(StackOptions())
    before = stack.dead()
    stack.daemons[0].stop()
    dead = stack.dead(), stack.found()
    again = stack.up(StackOptions())

    assert (before, dead) == ((), (("emr",), None))
    assert again == replace(first, pids={"aws": first.pids["aws"], "emr": stack.daemons[0].pid()})
    assert (again, stack.dead()) == (stack.found(), ())


def test_a_dead_aws_is_replaced_only_on_request(stack: Stack) -> None:
    """All that it held is lost, and nothing else is thrown away without --reset."""
    first = stack.up(StackOptions())
    stack.daemons[1].stop()
    with pytest.raises(SetUpError, match=r"the embedded AWS has died, .* --reset` starts another"):
        stack.up(StackOptions())
    left = stack.daemons[0].pid()
    after = stack.up(StackOptions(), reset=True)

    assert left == first.pids["emr"]
    assert first.pids["emr"] != after.pids["emr"]


def test_a_reset_replaces_a_stack_that_runs(stack: Stack) -> None:
    """It begins from nothing."""
    first = stack.up(StackOptions())

    assert stack.up(StackOptions(), reset=True).pids["aws"] != first.pids["aws"]


def test_a_dead_part_is_named_with_what_to_do(stack: Stack) -> None:
    """By `local status`; its exit code is 1."""
    run = CliRunner().invoke
    stack.up(StackOptions())
    answers = []
    for each in stack.daemons:
        each.stop()
        answers.append(run(app, ["local", "status"]))

    assert [each.exit_code for each in answers] == [1, 1]
    assert answers[0].stdout.startswith("EMR Serverless has died, its log is ")
    assert "lakegate local up --reset" in answers[1].stdout
    assert json.loads(run(app, ["local", "status", "--json"]).stdout) == {"up": False, "dead": ["emr", "aws"]}


def test_down_leaves_nothing(stack: Stack) -> None:
    """Processes, state, logs and scratch files are gone; a second time there is nothing to do."""
    stack.up(StackOptions())

    assert (stack.down(), stack.down()) == (True, False)
    assert pids(stack) == [None, None]
    assert (stack.path.exists(), stack.folder.exists()) == (False, False)


@pytest.mark.parametrize("failure", [SetUpError("SAM could not"), KeyboardInterrupt(), RuntimeError("a defect")])
def test_whatever_breaks_up_leaves_no_process(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    """An error, a Ctrl-C and a defect alike: nothing runs, nothing is found, the logs stay."""

    def broken(*_: object) -> None:
        raise failure

    monkeypatch.setattr(local_stack, "deploy", broken)
    with pytest.raises(type(failure)):
        stack.up(StackOptions())

    assert (pids(stack), stack.found()) == ([None, None], None)
    assert stack.daemons[0].log.exists()


def test_two_commands_do_not_move_one_stack_at_once(stack: Stack) -> None:
    """The second fails with the advice to wait, and changes nothing."""
    with stack.path.with_suffix(".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        with pytest.raises(
            SetUpError, match=r"^another `lakegate local` or `lakegate demo` is at work: wait for it\.$"
        ):
            stack.down()


def test_the_commands_say_what_is_the_case(stack: Stack) -> None:
    """status: exit code 1 until it is up; up, and up again; down, and down again."""
    run = CliRunner().invoke

    assert run(app, ["local", "status"]).exit_code == 1
    assert '"up": false' in run(app, ["local", "status", "--json"]).stdout
    assert run(app, ["local", "up"]).exit_code == 0
    assert str(stack.daemons[0].pid()) in run(app, ["local", "up", "--json"]).stdout
    assert "export AWS_ENDPOINT_URL=" in run(app, ["local", "status"]).stdout
    assert run(app, ["local", "down"]).stdout == "The local stack is down.\n"
    assert run(app, ["local", "down"]).stdout == "The local stack was not up.\n"


@pytest.mark.usefixtures("stack")
def test_up_takes_parameters_of_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its name; text that SAM would read otherwise is refused, and nothing is started."""
    given: list[dict[str, str]] = []
    monkeypatch.setattr(local_stack, "deploy", lambda _state, _log, own: given.append(dict(own)) or {"ApiId": "1"})
    words = [f"--parameter={each}" for each in ("ValidatorHosts=gx.example.com,b.example.com", "PullHosts=")]
    refused = CliRunner().invoke(app, ["local", "up", "--parameter", "PullHosts=a' Other='b"])
    done = CliRunner().invoke(app, ["local", "up", *words])

    assert (done.exit_code, isinstance(refused.exception, InputError)) == (0, True)
    assert given == [{"SmallFileBytes": "0", "ValidatorHosts": "gx.example.com,b.example.com", "PullHosts": ""}]


def test_up_refuses_parameters_that_a_running_stack_does_not_have(stack: Stack) -> None:
    """They would be ignored; the same ones again are no change, and --reset starts a stack that has them."""

    def up(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["local", "up", *words])
        return done.exit_code, str(done.exception) if isinstance(done.exception, InputError) else ""

    assert up("--parameter", "PullHosts=a.example.com") == (0, "")
    first = pids(stack)
    assert up() == up("--parameter", "PullHosts=a.example.com") == (0, "")
    for words in (("--parameter", "NoSuch=1"), ("--parameter", "PullHosts="), ("--small-file-bytes", "9")):
        _, refusal = up(*words)
        name = words[1] if "=" in words[1] else f"SmallFileBytes={words[1]}"
        assert refusal.startswith(f"the local stack was not started with `{name}`, and keeps")
        assert "`lakegate local down` first, or add --reset" in refusal
    assert pids(stack) == first
    assert up("--parameter", "PullHosts=", "--reset") == (0, "")
    assert pids(stack) != first


def test_an_interrupted_command_stops_the_stack(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while something is shown, the stack being up: nothing is left running."""
    stack.up(StackOptions())

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("infra.local.demo_command.open_deployed", interrupted)
    CliRunner().invoke(app, ["demo"])

    assert pids(stack) == [None, None]

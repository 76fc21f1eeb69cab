"""How a stack is opened, and what a person reads where it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from lakegate.aws import open_stack
from lakegate.aws.clients import translate_error
from lakegate.aws.open_stack import SENTENCES, DeployedStack, LocalState, open_deployed, readable_errors
from lakegate.base.errors import InputError, PortError, SetUpError, Throttled, Unanswered
from lakegate.cli.main import app
from tests.fakes.quick_moto import REGION, quick_aws
from tests.unit.cli.conftest import Lakegate

COMMANDS = (
    ["contracts"],
    ["show", "shop"],
    ["route", "list"],
    ["route", "add", "x", "shop"],
    ["route", "remove", "x"],
    ["status"],
    ["reasons", "x"],
    ["replay", "x"],
    ["get", "x", "y"],
    ["log", "x"],
    ["verify", "x"],
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_missing_stack_is_reported(lakegate: Lakegate, words: list[str]) -> None:
    """Every command prints the same sentence, with what to do."""
    result = lakegate(*words, "--stack", "another")

    assert str(result.exception) == (
        f"there is no stack another in {REGION}: "
        "name another with --stack or another region with AWS_REGION, or deploy one (docs/deploy.md)"
    )


@pytest.mark.usefixtures("fresh_clients")
def test_aws_region_is_the_region_of_every_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """It wins over AWS_DEFAULT_REGION, which is all that boto3 reads, and the message names it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    with quick_aws():
        result = CliRunner().invoke(app, ["contracts", "--stack", "another"])

    assert "there is no stack another in eu-central-1: " in str(result.exception)
    assert boto3.client("s3").meta.region_name == "eu-central-1"


def test_the_stack_may_stand_in_the_environment(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAKEGATE_STACK names it for every command."""
    monkeypatch.setenv("LAKEGATE_STACK", "of-the-environment")

    assert "no stack of-the-environment" in str(lakegate("contracts").exception)


def test_a_stack_of_something_else_is_recognized(lakegate: Lakegate) -> None:
    """A stack without our outputs: which one is missing."""
    lakegate.clients["cloudformation"].create_stack(
        StackName="shop", TemplateBody='{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}'
    )

    assert "the stack shop has no output" in str(lakegate("contracts", "--stack", "shop").exception)


def test_a_function_without_settings_starts_no_replay(lakegate: Lakegate) -> None:
    """The job's settings are the functions' own; what is wrong with them is named."""
    lakegate.clients["lambda"].update_function_configuration(
        FunctionName="intake", Environment={"Variables": {"A": "b"}}
    )

    assert "LAKEGATE_ACCOUNT is missing" in str(lakegate("replay", "0" * 64).exception)


def explained(text: str) -> PortError:
    said = {"Error": {"Code": "ValidationError", "Message": text}}
    return translate_error(ClientError(said, "CreateChangeSet"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            explained("Unrecognized resource types: [A::B]\x1b[2J"),
            r"AWS refused: CreateChangeSet: ValidationError (Unrecognized resource types: [A::B]\x1b[2J)",
        ),
        (PortError("NoCredentialsError"), "no AWS credentials were found"),
        (PortError("GetItem: AccessDeniedException"), "these credentials may not do that"),
        (PortError("GetItem: Strange"), "AWS refused: GetItem: Strange"),
        (PortError(), "AWS refused: PortError"),
        (Throttled("Scan: Throttling"), "AWS is asked too much at once"),
        (Unanswered("EndpointConnectionError"), "AWS does not answer: is there a network?"),
    ],
)
def test_what_aws_refuses_is_one_sentence(error: PortError, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its code, with what to do."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with pytest.raises(SetUpError) as raised, readable_errors():
        raise error

    assert str(raised.value).startswith(expected)


def test_every_sentence_is_one_sentence() -> None:
    """No line break, no capital, no full stop: they stand behind the command's name."""
    assert [text for text in SENTENCES.values() if "\n" in text or text.endswith(".")] == []


@pytest.mark.usefixtures("fresh_clients")
def test_without_a_region_it_is_asked_for(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """What boto3 lacks is named with the variable that supplies it."""
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)

    assert str(lakegate("contracts").exception).startswith("no AWS region is set")


@pytest.mark.usefixtures("fresh_clients")
def test_a_stopped_local_stack_is_reported(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that starts it."""
    monkeypatch.setenv("LAKEGATE_LOCAL_STATE", str(lakegate.folder / "none.json"))

    assert "lakegate local up" in str(lakegate("contracts", "--local").exception)


@pytest.mark.usefixtures("fresh_clients")
def test_the_local_stack_is_all_that_is_in_reach(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a person's own AWS: no profile, no session, no other endpoint; and its stack has its own name."""
    state = _state(lakegate.folder, monkeypatch)
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-production")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://production.example")
    with pytest.raises((SetUpError, InputError)), open_deployed(local=True):
        pass
    left = {name for name in os.environ if name.startswith("AWS_")}

    assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"} & left == set()
    assert os.environ["AWS_ENDPOINT_URL"] == state.endpoint
    assert os.environ["AWS_CONFIG_FILE"] == os.devnull


@pytest.mark.usefixtures("fresh_clients")
def test_the_api_of_the_local_stack_is_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded AWS names an address of AWS, at which nobody answers."""
    state = _state(tmp_path, monkeypatch, api="http://127.0.0.1:9/_aws/execute-api/a")
    named = {"ApiUrl": "https://a.execute-api.eu-west-1.amazonaws.com", "LakeBucket": "lake"}
    monkeypatch.setattr(open_stack, "find_stack", lambda name, _: DeployedStack(name, "0" * 12, "eu-west-1", named))

    with open_deployed(local=True) as there:
        assert dict(there.outputs) == {"ApiUrl": state.api, "LakeBucket": "lake"}


@pytest.mark.usefixtures("fresh_clients")
def test_an_endpoint_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator was killed: which address, and how to look."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    state = _state(tmp_path, monkeypatch)
    with pytest.raises(SetUpError) as raised, open_deployed(local=True):
        pass

    assert str(raised.value) == f"AWS does not answer at {state.endpoint}: is it running? `lakegate local status`"


def _state(folder: Path, monkeypatch: pytest.MonkeyPatch, api: str = "") -> LocalState:
    """A state file of a stack that is not there: nothing listens on port 9 of this machine."""
    state = LocalState(
        "http://127.0.0.1:9", "http://127.0.0.1:9", "lakegate-local", secret_key="of this start", api=api
    )
    state.write(folder / "local.json")
    monkeypatch.setenv("LAKEGATE_LOCAL_STATE", str(folder / "local.json"))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return state

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.aws.open_stack import DEFAULT, LocalState, state_path
from lakegate.base.errors import SetUpError

STATE = LocalState("http://127.0.0.1:1", "http://127.0.0.1:2", "lakegate", pids={"aws": 3, "emr": 4})


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    """What `up` writes is what every other command reads; nothing else is left beside it."""
    STATE.write(tmp_path / "folder/local.json")

    assert LocalState.read(tmp_path / "folder/local.json") == STATE
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["local.json"]


def test_without_a_state_the_reader_is_sent_to_up(tmp_path: Path) -> None:
    """No file: no stack, and one sentence that explains how to start one."""
    with pytest.raises(
        SetUpError, match=r"^the local stack is not up \(.*local.json is not there\): run `lakegate local up`\.$"
    ):
        LocalState.read(tmp_path / "local.json")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"endpoint": 1, "surprise": 2}', "VERSION"])
def test_a_state_of_another_program_is_refused(tmp_path: Path, content: str) -> None:
    """What cannot be understood is never guessed at: down and up make it new."""
    path = tmp_path / "local.json"
    STATE.write(path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2') if content == "VERSION" else content)

    with pytest.raises(SetUpError, match="cannot be read: run `lakegate local down`, then `lakegate local up`"):
        LocalState.read(path)


def test_the_environment_may_name_another_state(tmp_path: Path) -> None:
    """Tests have a stack of their own beside the one of the clone."""
    assert tmp_path / "a.json" == state_path({"LAKEGATE_LOCAL_STATE": str(tmp_path / "a.json")})
    assert state_path({}) == DEFAULT
    assert Path(__file__).parents[3] / ".lakegate/local.json" == DEFAULT


def test_every_tool_gets_both_endpoints() -> None:
    """EMR Serverless has an endpoint of its own; SDKs and commands read both from two variables."""
    environment = STATE.environment()

    assert (STATE.endpoint, STATE.emr_endpoint) == (
        environment["AWS_ENDPOINT_URL"],
        environment["AWS_ENDPOINT_URL_EMR_SERVERLESS"],
    )
    assert (STATE.endpoint, STATE.emr_endpoint) == (STATE.endpoint_of("s3"), STATE.endpoint_of("emr-serverless"))
    assert STATE.session()["aws_access_key_id"] == environment["AWS_ACCESS_KEY_ID"] == STATE.account

"""Clients of AWS share what describes services; their errors become port errors, without their text."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    FlexibleChecksumError,
    IncompleteReadError,
    ParamValidationError,
    ReadTimeoutError,
    ResponseStreamingError,
)
from botocore.stub import Stubber

from lakegate.aws.clients import BY_CODE, port_errors, session, translate_error
from lakegate.aws.wiring import EventBridgeNotifier, SystemClock
from lakegate.base.errors import ConditionFailed, PortError, Throttled, Unanswered
from lakegate.gate.ports import Message


def test_descriptions_of_services_are_read_once() -> None:
    """Two sessions share the one that reads the descriptions, and nothing else."""
    first, second = session(), session()

    assert first is not second
    assert first.get_component("data_loader") is second.get_component("data_loader")


def test_a_session_has_the_settings_of_its_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Region and folder of descriptions are those of the environment when the session is made."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    before = session()
    regions = [before.get_config_variable("region")]
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    after = session()
    regions.append(after.get_config_variable("region"))

    assert regions == ["eu-west-1", "eu-north-1"]
    assert str(tmp_path) not in before.get_component("data_loader").search_paths
    assert str(tmp_path) in after.get_component("data_loader").search_paths


KNOWN: Any = {"region_name": "us-east-1", "aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
NEWS = Message("m1", "w1", "published", '{"rows":1}', datetime(2026, 11, 21, tzinfo=UTC))


def error(code: str, status: int = 400) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "canary"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "PutObject")


@pytest.mark.parametrize(("code", "kind"), BY_CODE.items())
def test_every_code_of_the_table_has_its_error(code: str, kind: type[PortError]) -> None:
    """Each known code becomes its port error, without AWS's own text, which may repeat keys and values."""
    port_error = translate_error(error(code), ("state",))

    assert kind is type(port_error)
    assert "canary" not in str(port_error)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("InvalidRequest", 400, PortError),
        ("NoSuchBucket", 404, PortError),
        ("InternalError", 500, Unanswered),
        ("503", 503, Unanswered),
    ],
)
def test_an_unknown_code_is_judged_by_its_status(code: str, status: int, kind: type[PortError]) -> None:
    """A server that broke off may have done it; any other refusal is plain. A missing bucket is not a missing object."""
    assert kind is type(translate_error(error(code, status)))


@pytest.mark.parametrize(
    "broken",
    [
        ReadTimeoutError(endpoint_url="https://canary", error="canary"),
        ConnectTimeoutError(endpoint_url="https://canary", error="canary"),
        EndpointConnectionError(endpoint_url="https://canary", error="canary"),
        ResponseStreamingError(error="canary"),
        IncompleteReadError(actual_bytes=1, expected_bytes=2),
        FlexibleChecksumError(error_msg="canary"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_answer_is_no_answer(broken: Exception) -> None:
    """When the connection breaks, before or within an answer, nobody knows whether the effect has happened."""
    with pytest.raises(Unanswered) as raised, port_errors():
        raise broken

    assert str(raised.value) == type(broken).__name__


def test_what_was_never_sent_is_a_plain_error() -> None:
    """A call that botocore itself refuses is an error of that call alone, reported without its values."""
    with pytest.raises(PortError, match="ParamValidationError") as raised, port_errors():
        raise ParamValidationError(report="canary")

    assert PortError is type(raised.value)


@pytest.fixture(scope="module")
def events() -> Any:
    return boto3.client("events", **KNOWN)


def test_a_message_carries_its_idempotency_key(events: Any) -> None:
    """The event holds the message's id, by which a receiver recognizes a duplicate."""
    detail = {"id": "m1", "workload": "w1", "kind": "published", "body": {"rows": 1}}
    entry = {
        "Source": "lakegate",
        "DetailType": "workload published",
        "Detail": json.dumps(detail, separators=(",", ":")),
        "EventBusName": "bus",
        "Time": NEWS.at,
    }
    with Stubber(events) as stub:
        stub.add_response("put_events", {"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}, {"Entries": [entry]})
        assert EventBridgeNotifier(events, "bus").send((NEWS,)) == frozenset()

        stub.assert_no_pending_responses()


def test_entries_that_are_refused_beside_others_are_named(events: Any) -> None:
    """PutEvents answers for each of its entries, in their order."""
    others = (replace(NEWS, id="m2"), replace(NEWS, id="m3"))
    entries = [{"EventId": "e"}, {"ErrorCode": "ThrottlingException", "ErrorMessage": "canary"}, {"EventId": "f"}]
    with Stubber(events) as stub:
        stub.add_response("put_events", {"FailedEntryCount": 1, "Entries": entries})

        assert EventBridgeNotifier(events, "bus").send((NEWS, *others)) == {"m2"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingException", Throttled),
        ("InternalFailure", Unanswered),
        ("NotAuthorizedForSourceException", PortError),
    ],
)
def test_an_entry_refused_inside_an_answer_is_an_error(events: Any, code: str, kind: type[PortError]) -> None:
    """PutEvents answers 200 also for an entry it did not take: that message is not sent."""
    with Stubber(events) as stub:
        stub.add_response(
            "put_events", {"FailedEntryCount": 1, "Entries": [{"ErrorCode": code, "ErrorMessage": "canary"}]}
        )
        with pytest.raises(PortError) as raised:
            EventBridgeNotifier(events, "bus").send((NEWS,))

    assert kind is type(raised.value)


def test_a_failed_condition_is_named() -> None:
    """The reasons given to the call are the reasons of its failure."""
    with pytest.raises(ConditionFailed) as failed, port_errors("etag"):
        raise error("PreconditionFailed", 412)

    assert failed.value.reasons == ("etag",)


def test_the_clock_is_aware_and_waits() -> None:
    """Time is UTC and passes by at least what was asked for."""
    clock = SystemClock()
    before = clock.now()
    clock.sleep(0.01)

    assert before.tzinfo is UTC
    assert (clock.now() - before).total_seconds() >= 0.01

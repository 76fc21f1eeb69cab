"""The handlers: each message fails alone, each line is one line of ASCII, and no line holds what a producer wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from functions import completion_handler, intake_handler, notify_handler, sweep_handler
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_runtime import HandlerError, of_error, shape
from lakegate.aws.settings import read
from lakegate.aws.wiring import bootstrap
from lakegate.base.errors import LakegateError, PortError, Throttled, Unfinished
from lakegate.base.json_codec import encode
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.dataset_states import DatasetState
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import Waiting, WaitsFor, workload_id, workload_row
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Workloads
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import OVERVIEW
from lakegate.gate.ports import Address, Message
from lakegate.gate.table import Put
from lakegate.report.overview_page import DatasetsOverview
from tests.fakes import Memory
from tests.simulation.environment import PREFIX, TIMING, Environment
from tests.unit.report.test_overview_page import summary

CANARY = "Erika.Mustermann@example.com"
KEYS = json.loads((Path(__file__).parents[1] / "aws/keys.json").read_text())
ENVIRONMENT = {
    "LAKEGATE_STACK": "lakegate",
    "LAKEGATE_ACCOUNT": "123456789012",
    "LAKEGATE_LANDING": "landing",
    "LAKEGATE_LAKE": "lake",
    "LAKEGATE_REGISTRY_TABLE": "registry",
    "LAKEGATE_WORKLOADS_TABLE": "workloads",
    "LAKEGATE_LEDGER_TABLE": "ledger",
    "LAKEGATE_APPLICATION": "00f1982r1uukb925",
    "LAKEGATE_JOB_ROLE": "arn:aws:iam::123456789012:role/job",
    "LAKEGATE_ENTRY_POINT": "s3://code/validate.py",
}


@dataclass
class Context:
    function_name: str = "f"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:f"
    aws_request_id: str = "r"

    def get_remaining_time_in_millis(self) -> int:
        return 90_000


@dataclass
class Stand:
    """The handlers over the twins, and what they write."""

    memory: Memory
    capture: pytest.CaptureFixture[str]
    logs: dict[str, io.StringIO] = field(default_factory=dict)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for log in self.logs.values() for line in log.getvalue().splitlines()]

    def written(self) -> str:
        return "".join(log.getvalue() for log in self.logs.values()) + self.capture.readouterr().out

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.capture.readouterr().out.splitlines()]

    def land(self, key: str, body: bytes = b"a\n1\n") -> str:
        version = self.memory.objects.put(Address("landing", key), body).version
        return workload_id("landing", key, version)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Stand]:
    memory = Memory.of("landing", "lake")
    dependencies = replace(
        bootstrap(read(ENVIRONMENT)),
        objects=memory.objects,
        table=memory.table,
        of=memory.adapter,
        jobs=memory.jobs,
        notifier=memory.notifier,
        clock=memory.clock,
    )
    stand = Stand(memory, capsys)
    for module in (intake_handler, completion_handler, sweep_handler, notify_handler):
        monkeypatch.setattr(module, "dependencies", lambda: dependencies)
        handler = module.LOG._logger.handlers[0]  # noqa: SLF001 - Powertools shows its stream nowhere else
        stand.logs[module.__name__] = io.StringIO()
        monkeypatch.setattr(handler, "stream", stand.logs[module.__name__])
    yield stand
    lambda_runtime.INVOCATION.set(None)


def created(key: str) -> str:
    detail = {"version": "0", "bucket": {"name": "landing"}, "object": {"key": key}}
    return json.dumps({"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail})


def moved(run: str) -> str:
    detail = {"applicationId": "00f1", "jobRunId": run, "state": "SUCCESS"}
    kind = "EMR Serverless Job Run State Change"
    return json.dumps({"version": "0", "source": "aws.emr-serverless", "detail-type": kind, "detail": detail})


def invocation_ended(workload: str, condition: str) -> str:
    payload = {"workload": workload, "attempt": 1, "request": f"s3://lake/runs/{workload}/attempt=1/request.json"}
    return json.dumps({"version": "1.0", "requestContext": {"condition": condition}, "requestPayload": payload})


def sqs(*bodies: str) -> dict[str, Any]:
    return {
        "Records": [{"messageId": f"m{n}", "eventSource": "aws:sqs", "body": body} for n, body in enumerate(bodies)]
    }


def failed(answer: dict[str, Any]) -> list[str]:
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def call(handler: Any, event: Any) -> Any:
    return handler(event, Context())


def test_a_landed_object_is_taken_in(stand: Stand) -> None:
    """An object that no route covers is quarantined on its first event."""
    workload = stand.land("in/orders.csv")

    assert failed(call(intake_handler.handler, sqs(created("in/orders.csv")))) == []
    assert stand.memory.workloads[workload].state is State.QUARANTINED


def test_a_landed_object_has_the_time_of_its_event(stand: Stand) -> None:
    """However late intake gets it: `Last-Modified` would be when an upload in parts began."""
    landed = stand.memory.objects.land(Address("landing", "in/orders.csv"), b"a", "", timedelta(hours=5))
    ended = stand.memory.clock.now().replace(microsecond=0)
    event = json.loads(created(landed.key)) | {"time": f"{ended:%Y-%m-%dT%H:%M:%SZ}"}
    event["detail"]["object"]["version-id"] = landed.version
    stand.memory.clock.sleep(3_600)
    call(intake_handler.handler, sqs(json.dumps(event)))

    assert stand.memory.workloads[workload_id("landing", landed.key, landed.version)].arrived == ended


def test_a_message_fails_alone(stand: Stand) -> None:
    """Poison in a batch is given back by its id, and the others are taken in."""
    workloads = [stand.land(key) for key in ("1", "3")]
    answer = call(
        intake_handler.handler, sqs(created("1"), "{", created("3"), created("1").replace("landing", "another-bucket"))
    )

    assert failed(answer) == ["m1", "m3"]
    assert {State.QUARANTINED} == {stand.memory.workloads[each].state for each in workloads}


def test_why_a_message_failed_stands_in_its_line(stand: Stand) -> None:
    """What cannot be understood is logged with its reason, its place and the id of its message, and counted."""
    call(intake_handler.handler, sqs("{", moved("00f1"), created("in/orders.csv")))
    lines = [(line["message_id"], line["reason"], line["at"]) for line in stand.lines() if line["level"] == "ERROR"]
    metrics = {name: value for line in stand.metrics() for name, value in line.items() if name != "_aws"}

    assert lines == [("m0", "not-json", "$"), ("m1", "misrouted", "$")]
    assert (metrics["Messages"], metrics["Failed"], metrics["Unintelligible"]) == ([3.0], [2.0], [1.0, 1.0])


def test_a_copy_that_goes_on_later_is_no_error(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message whose copy ran out of time comes again, and rings no alarm."""

    def long(*_: Any, **__: Any) -> None:
        raise Unfinished("part 7")

    stand.land("in/orders.csv")
    monkeypatch.setattr(stand.memory.objects, "copy", long)
    answer = call(intake_handler.handler, sqs(created("in/orders.csv")))
    metrics = stand.metrics()[0]

    assert failed(answer) == ["m0"]
    assert (["unfinished"], {"INFO"}) == (
        [line["message"] for line in stand.lines()],
        {line["level"] for line in stand.lines()},
    )
    assert metrics["Unfinished"] == [1.0]
    assert "Errors" not in metrics


def test_a_job_run_of_nobody_is_done(stand: Stand) -> None:
    """A run that EMR does not know, or that is none of ours, is not a failure."""
    run = stand.memory.jobs.start({"clientToken": "t", "name": "somebody"})

    assert failed(call(completion_handler.handler, sqs(moved("00f1"), moved(run.replace("-", ""))))) == []
    assert {"00f1", "run1"} == {line["run"] for line in stand.lines()}


@pytest.mark.parametrize("function", ["intake", "completion", "sweep"])
def test_what_waits_is_started_by_each_function_that_carries_on(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """A run whose start cannot be read is reported, makes no message fail, and stops none that waits after it."""
    memory = Memory.of("landing", "lake")
    env = Environment(memory=memory)
    env.dependencies = replace(env.dependencies, timing=replace(TIMING, start_burst=0))
    uploads = [env.upload(f"{PREFIX}{each}.csv", f"good:{each}".encode()) for each in (1, 2)]
    for each in uploads:
        run(intake(env.dependencies, "landing", each.version.key), memory.clock)
    states = [memory.workloads[each.workload].state for each in uploads]
    broken = memory.workloads[uploads[0].workload]._replace(request="{")
    memory.table.write(Put(workload_row(broken)))
    module, event = {
        "intake": (intake_handler, sqs(created(f"{PREFIX}1.csv"))),
        "completion": (completion_handler, sqs(moved("00f1"))),
        "sweep": (sweep_handler, {}),
    }[function]
    monkeypatch.setattr(module, "dependencies", lambda: env.dependencies)
    answer = call(module.handler, event)
    after = [memory.workloads[each.workload].state for each in uploads]
    reported = {line["detail"] for line in stand.lines() if line["message"] == "StepFailures"}

    assert (states, after) == ([State.SUBMITTING] * 2, [State.SUBMITTING, State.VALIDATING])
    assert (answer.get("batchItemFailures", []), reported) == ([], {f"JSONDecodeError @ {broken.id}"})


def test_a_sweep_finds_what_no_event_announced(stand: Stand) -> None:
    """An object whose every event was lost is taken in by the next sweep, and reported by the next notify."""
    workload = stand.land("in/orders.csv")

    assert call(sweep_handler.handler, {})["failures"] == 0
    assert stand.memory.workloads[workload].state is State.QUARANTINED
    assert call(notify_handler.handler, {}) == {"unsent": 0}
    written = stand.written()
    assert '"DeliveriesQuarantined":[1.0]' in written
    assert written.count('"DeliverySeconds":[') == 1
    assert "VcpuSeconds" not in written
    assert [workload] == [message.workload for message in stand.memory.notifier.sent]


def test_a_delivery_is_measured_once(stand: Stand) -> None:
    """Time and billed use of a delivery are metrics of the turn that marked its message as sent, and of no other turn.

    A message of a delivery that was gone before it had a route has its outcome alone.
    """
    now = stand.memory.clock.now()
    bodies = [{"seconds": 131.2, "cost": {"vcpu_seconds": 612.4}}, {"seconds": None, "cost": None}, {}]
    for number, body in enumerate(bodies):
        message = Message(f"m{number}", "w", "published", json.dumps(body), now - timedelta(minutes=5))
        stand.memory.post(message)
    call(notify_handler.handler, {})
    call(notify_handler.handler, {})
    measured = [line for line in stand.written().splitlines() if "DeliveriesPublished" in line]

    assert len(measured) == 1
    document = json.loads(measured[0])
    assert (document["DeliveriesPublished"], document["DeliverySeconds"], document["VcpuSeconds"]) == (
        [1.0] * 3,
        [131.2],
        [612.4],
    )


def test_a_dataset_has_metrics_of_its_own_where_the_stack_says_so(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deliveries by the turn that marked their messages as sent, its age by each sweep; an absent overview is no failure."""
    monkeypatch.setenv("LAKEGATE_DATASET_METRICS", "sales.*")
    now = stand.memory.clock.now()
    body = {"line": "sales.eu/orders_v1", "verdict": "accepted", "rows": 10, "rejected_rows": 0, "seconds": 60}
    stand.memory.post(Message("m", "w", "published", json.dumps(body), now - timedelta(minutes=5)))
    for handler in (notify_handler.handler, notify_handler.handler, sweep_handler.handler):
        call(handler, {})
    accepted = summary("sales.eu/orders_v1", last_accepted=moment(now - timedelta(minutes=3)))
    overview = json.dumps(encode(DatasetsOverview(moment(now), (accepted,)))).encode()
    stand.memory.objects.put(Address("lake", OVERVIEW), overview)
    call(sweep_handler.handler, {})
    lines = [json.loads(line) for line in stand.written().splitlines() if '"dataset"' in line]
    found = [{name: value for name, value in line.items() if name.startswith("Dataset")} for line in lines]

    assert found[0] == {"DatasetRows": [10.0], "DatasetRejectedShare": [0.0], "DatasetMinutesToVerdict": [1.0]}
    assert [list(each) for each in found[1:]] == [["DatasetMinutesSinceAccepted"]]


def test_a_failure_is_logged_and_counted(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep met with is a line and a figure, and the sweep does not fail for it."""
    stand.land("in/orders.csv")

    def refuse(*_: Any) -> None:
        raise LakegateError("refused")

    monkeypatch.setattr(Workloads, "create", refuse)

    assert call(sweep_handler.handler, {}) == {"looked_at": 1, "failures": 1}
    assert [(line["error"], line["detail"]) for line in stand.lines()] == [("LakegateError", "refused")]


@pytest.mark.parametrize("handler", [intake_handler, completion_handler, sweep_handler])
def test_a_denied_deletion_is_counted_for_the_stack(stand: Stand, handler: Any) -> None:
    """Whichever function met it: one alarm looks at one metric; the log names the bucket."""
    handler.dependencies().undeletable.add("landing")
    call(handler.handler, sqs())
    counted = [each for each in stand.metrics() if "DeletionsDenied" in each]

    assert [(each["stack"], each["service"], each["DeletionsDenied"]) for each in counted] == [
        ("Lakegate", "gate", [1.0])
    ]
    assert ["landing" in line["detail"] for line in stand.lines() if line["message"] == "DeletionsDenied"] == [True]


@pytest.mark.parametrize("handler", [intake_handler, completion_handler, sweep_handler])
def test_what_deliveries_wait_for_is_logged(stand: Stand, handler: Any) -> None:
    """Once, by the function that carried them on; nothing of those that wait for nothing."""
    handler.dependencies().waits.update(w1=Waiting(WaitsFor.COMMIT, "4f2c"), w2=None)
    call(handler.handler, sqs())
    call(handler.handler, sqs())
    lines = [line for line in stand.lines() if line["message"] == "waits"]

    assert [(line["workload"], line["subject"], line["whom"]) for line in lines] == [("w1", "commit", "4f2c")]


def test_a_channel_is_tested_by_the_function(stand: Stand) -> None:
    """One test message is sent, or the answer states why not, in words without an address; the outbox waits meanwhile."""
    stand.memory.channels.broken["slack:b"] = PortError("secret-malformed")

    assert [call(notify_handler.handler, {"test": name}) for name in ("slack:a", "slack:b", "slack:https://x")] == [
        {"delivered": True, "error": ""},
        {"delivered": False, "error": "PortError: secret-malformed"},
        {
            "delivered": False,
            "error": "InputError: behind slack: there is the name of a secret of Secrets Manager, never an address or a key",
        },
    ]
    [(channel, sent)] = stand.memory.channels.sent
    assert (channel, sent.kind, sent.title) == ("slack:a", "test", "Test of a channel")


def test_notifications_and_failing_channels_are_counted(stand: Stand) -> None:
    """What channels got, what they refused and what was given up are metrics; a channel that fails fails nothing else."""
    line = add_subscription(
        DatasetState("a/b_v1"), "2026-01-01T00:00:00.000000Z", "t", ["rejected"], to=["slack:a", "slack:b"]
    )
    stand.memory.datasets.write(line)
    body = json.dumps(
        {"line": "a/b_v1", "status": "deprecated", "planned": [], "reason": "", "replacement": "", "guide": ""}
    )
    stand.memory.post(Message("m", "", "deprecated", body, stand.memory.clock.now(), "a/b_v1"))
    stand.memory.channels.broken["slack:b"] = PortError("http-404")

    assert call(notify_handler.handler, {}) == {"unsent": 0}
    written = stand.written()
    assert ('"Notifications":[1.0]' in written, '"Undelivered":[1.0]' in written, '"DeadNotices":[0.0]' in written) == (
        True,
        True,
        True,
    )
    assert [(line["error"], line["detail"]) for line in stand.lines() if line["message"] == "Undelivered"] == [
        ("PortError", "http-404")
    ]


def test_what_could_not_be_sent_is_logged_and_counted(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that could not be sent waits on, with a log line that has the reason."""
    stand.land("in/orders.csv")
    call(sweep_handler.handler, {})

    def full(_: Any) -> None:
        raise Throttled("PutEvents: ThrottlingException")

    monkeypatch.setattr(stand.memory.notifier, "send", full)

    assert call(notify_handler.handler, {}) == {"unsent": 1}
    assert [(line["error"], line["detail"]) for line in stand.lines() if line["message"] == "Unsent"] == [
        ("Throttled", "PutEvents: ThrottlingException")
    ]


def test_a_defect_leaves_no_producer_text(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised, its text stays out of lines, metrics and what Lambda itself would log."""

    def defect(*_: Any, **__: Any) -> None:
        raise KeyError(CANARY)

    stand.land(f"in/{CANARY}.csv")
    monkeypatch.setattr(stand.memory.objects, "versions", defect)
    answer = call(intake_handler.handler, sqs(created(f"in/{CANARY}.csv")))
    with pytest.raises(HandlerError) as raised:
        call(sweep_handler.handler, {})

    assert failed(answer) == ["m0"]
    assert (str(raised.value), raised.value.__cause__) == ("KeyError", None)
    assert {"KeyError"} == {line["error"] for line in stand.lines()}
    assert CANARY not in stand.written()


def test_hostile_keys_are_one_line_of_ascii(stand: Stand) -> None:
    """Whatever an object is called, a message about it writes lines of JSON in printable ASCII without the name."""
    keys = sorted({key for kind in KEYS.values() for key in kind})
    call(intake_handler.handler, sqs(*map(created, keys)))
    written = stand.written()

    assert len(keys) == sum(line["message"] == "taken" for line in stand.lines())
    assert written.isascii()
    assert not {character for character in written if not character.isprintable()} - {"\n"}
    assert [key for key in KEYS["injection"] if len(key) > 8 and key in written] == []


def test_no_sink_shows_what_a_producer_wrote(stand: Stand) -> None:
    """A canary in key and data is in no line, no metric, no message and no block."""
    workload = stand.land(f"in/{CANARY}.csv", CANARY.encode())
    call(intake_handler.handler, sqs(created(f"in/{CANARY}.csv")))
    call(sweep_handler.handler, {})
    call(notify_handler.handler, {})
    messages = [str(message) for message in stand.memory.notifier.sent]
    blocks = [str(block) for chain in stand.memory.chains.values() for block in chain]

    assert State.QUARANTINED is stand.memory.workloads[workload].state
    assert (len(messages), len(blocks)) == (1, 1)
    assert [text for text in (*messages, *blocks, stand.written()) if "Mustermann" in text] == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("in/Erika-2026.csv", "aa/Aaaaa-9999.aaa"),
        ("größe/١٢", "aaaaa/99"),
        ("a\nb\0\u202e", "a?a??"),
        ("k" * 121, "a" * 120 + "+"),
        ("", ""),
    ],
)
def test_a_shape_tells_the_form_and_not_the_text(key: str, expected: str) -> None:
    """Letters, digits and all else are messages apart, and nothing more."""
    assert expected == shape(key)


def test_an_error_never_raised_has_no_place() -> None:
    """An error of ours is messages in its own words, wherever it comes from."""
    assert of_error(Throttled("PutItem")) == {"error": "Throttled", "place": "", "detail": "PutItem"}


def test_the_time_left_is_that_of_the_invocation(stand: Stand) -> None:
    """Copies see how long the invocation under way may go on; without one, there is no end."""
    before = lambda_runtime.remaining()
    call(intake_handler.handler, sqs())

    assert (float("inf"), 90.0, {}) == (before, lambda_runtime.remaining(), stand.memory.workloads)


def test_the_gate_is_made_once_and_calls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold start reads the environment and makes the gate without a call to AWS, and without credentials."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    lambda_runtime.dependencies.cache_clear()
    dependencies = lambda_runtime.dependencies()

    assert dependencies is lambda_runtime.dependencies()
    assert (dependencies.places.landing, dependencies.places.lake) == ("landing", "lake")
    lambda_runtime.dependencies.cache_clear()


@pytest.mark.parametrize("condition", ["Success", "RetriesExhausted"])
def test_completion_understands_the_end_of_an_invocation(stand: Stand, condition: str) -> None:
    """The judge function's own destination leads to its queue; a workload that nobody knows is nobody's."""
    answer = call(completion_handler.handler, sqs(invocation_ended("ab" * 32, condition)))

    assert failed(answer) == []
    assert [line["invocation"] for line in stand.lines() if "invocation" in line] == [
        "answered" if condition == "Success" else "failed"
    ]


def test_intake_refuses_the_end_of_an_invocation(stand: Stand) -> None:
    """A record in the wrong queue is misrouted."""
    answer = call(intake_handler.handler, sqs(invocation_ended("ab" * 32, "Success")))

    assert failed(answer) == ["m0"]
    assert [line["reason"] for line in stand.lines() if "reason" in line] == ["misrouted"]

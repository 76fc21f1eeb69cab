"""Queues in which objects are named: the queue says whose contracts a message is for, and each version is delivered once."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from unittest.mock import Mock

import boto3
import pytest

from functions import naming_handler
from lakegate.aws import lambda_runtime
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.features.pull.named_objects import NamedObject
from lakegate.features.pull.naming_messages import ObjectsNamed, named_in
from lakegate.features.pull.naming_queues import PAUSE, TAG, NamingQueues
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of
from tests.fakes.fault_injector import BEGINNING
from tests.fakes.quick_moto import REGION, quick_aws
from tests.simulation.environment import LAKE, LANDING
from tests.unit.aws.conftest import ACCOUNT
from tests.unit.features.pull.test_named_objects import FOLDER, KEY, Stage, rows
from tests.unit.features.pull.test_naming_messages import VERSION, claim, from_bridge, notified
from tests.unit.functions.test_handlers import CANARY, Context, failed

STACK = "lakegate"


def arn(name: str, account: str = ACCOUNT) -> str:
    return f"arn:aws:sqs:{REGION}:{account}:{name}"


OWN = arn(f"{STACK}-named")


def record(message: str, body: str, queue: str = OWN, sent: datetime = BEGINNING) -> dict[str, Any]:
    """A message as Lambda hands it over."""
    stated = {"SenderId": "AROA1:exporter", "SentTimestamp": str(round(sent.timestamp() * 1000))}
    return {"messageId": message, "body": body, "eventSourceARN": queue, "attributes": stated}


@dataclass
class Queues:
    """The function over a stage, and the queues of SQS."""

    stage: Stage
    log: io.StringIO
    sent: itertools.count[int] = field(default_factory=itertools.count)

    def owner(self, name: str, contracts: str | None) -> str:
        """A queue as `tenant.yaml` makes it."""
        tags = {} if contracts is None else {TAG: contracts}
        boto3.client("sqs", region_name=REGION).create_queue(QueueName=f"{STACK}-named-{name}", tags=tags)
        return arn(f"{STACK}-named-{name}")

    def send(self, *bodies: str, queue: str = OWN) -> list[str]:
        """The ids of messages that are delivered again."""
        now = self.stage.dependencies.now
        records = [record(f"m{next(self.sent)}", body, queue, now) for body in bodies]
        return failed(naming_handler.handler({"Records": records}, Context()))  # type: ignore[arg-type] # what it uses of it

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queues]:
    """A stage with the contract `partner` over its folder."""
    with quick_aws():
        stage, log = Stage(), io.StringIO()
        made = NamingQueues(STACK, ACCOUNT, boto3.client("sqs", region_name=REGION))
        monkeypatch.setattr(naming_handler, "dependencies", lambda: stage.dependencies)
        monkeypatch.setattr(naming_handler, "queues", lambda: made)
        monkeypatch.setattr(naming_handler.LOG._logger.handlers[0], "stream", log)  # noqa: SLF001 - Powertools shows it nowhere else
        yield Queues(stage, log)
        lambda_runtime.INVOCATION.set(None)


def publish(stage: Stage, contract: str, folder: str, version: str = "1.0.0") -> None:
    """Another contract whose producer names objects."""
    plan = replace(
        plan_of({"id": "integer"}), policy=Policy(pull=Pull(folder)), contract=contract, contract_version=version
    )
    stage.env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
    route = Route(LANDING, f"{contract}/", contract, "rows", int(version[0]), version, "active", plan.digest)
    stage.env.memory.registry.publish(
        Publication(
            contract, version, "active", "c", (route,), plans=(("rows", plan.digest),), labels=(("pull", "rows"),)
        )
    )


def named(stage: Stage) -> list[tuple[str, str, str]]:
    return sorted((each.dataset, each.source, each.version) for each in rows(stage))


FORMS = {
    "notification": notified(),
    "EventBridge": from_bridge(),
    "claim": claim(version=VERSION),
    "claim of a contract": claim(version=VERSION, contract="partner"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_message_becomes_a_delivery(queues: Queues, form: str) -> None:
    """In each form, by the next turn of the pull function; the row has the sender as SQS knows it."""
    queues.stage.has(b"id\n1", VERSION)
    assert queues.send(FORMS[form]) == []
    (row,) = rows(queues.stage)
    queues.stage.tick()
    queues.stage.gate()

    assert (row.dataset, row.source, row.version, row.by) == ("partner/rows_v1", KEY, VERSION, "AROA1:exporter")
    assert list(queues.stage.taken.items()) == [(b"id\n1", 1)]


def test_a_repeated_message_is_one_delivery(queues: Queues) -> None:
    """Whatever form and order it comes in, twice in a batch, redelivered, before and after the delivery, of two versions."""
    other = claim(version="v2")
    queues.stage.has(b"id\n1", VERSION)
    queues.stage.has(b"id\n2", "v2")
    given = [queues.send(other, *FORMS.values(), *FORMS.values())]
    queues.stage.tick()
    queues.stage.gate()
    given.append(queues.send(*FORMS.values(), other))
    for _ in range(3):
        queues.stage.tick(1)
        queues.stage.gate()

    assert given == [[], []]
    assert queues.stage.taken == {b"id\n1": 1, b"id\n2": 1}


@pytest.mark.parametrize("happens", [False, True], ids=["before", "after"])
def test_a_function_that_dies_at_the_row_is_repeated(
    queues: Queues, *, happens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after it has written: SQS delivers the message again, and the version is one delivery."""
    from lakegate.features.pull import named_objects  # noqa: PLC0415 - to be broken

    right, calls = named_objects.named_objects, itertools.count()

    class Dying:
        def __init__(self, *given: Any) -> None:
            self.rows = right(*given)
            self.get, self.due = self.rows.get, self.rows.due

        def write(self, row: NamedObject) -> None:
            if not next(calls):
                if happens:
                    self.rows.write(row)
                raise KeyboardInterrupt
            self.rows.write(row)

    queues.stage.has(b"id\n1", VERSION)
    with monkeypatch.context() as patch:
        patch.setattr(named_objects, "TASK", replace(named_objects.TASK, rows=Dying))
        message = named_in(record("m", FORMS["claim"]))
        assert isinstance(message, ObjectsNamed)
        with pytest.raises(KeyboardInterrupt):
            naming_handler.name(message)
        assert len(rows(queues.stage)) == happens
        assert queues.send(FORMS["claim"]) == []
    queues.stage.tick()
    queues.stage.gate()

    assert queues.stage.taken == {b"id\n1": 1}


def test_a_message_before_and_after_its_object(queues: Queues) -> None:
    """The pull fails, as docs/pull.md says; a repeated message tries it again, and one whose object is gone fails once more."""
    queues.send(FORMS["claim"])
    first = [end.reason for _, end in queues.stage.tick().ends]
    queues.stage.has(b"id\n1", VERSION)
    queues.send(FORMS["claim"])
    second = [end.outcome.value for _, end in queues.stage.tick().ends]
    queues.stage.bucket.objects.clear()
    queues.send(FORMS["claim"])

    assert (first, second) == (["GetObject: NoSuchVersion"], ["FETCHED"])
    assert queues.stage.tick().ends == []


def test_what_names_no_object_blocks_no_other(queues: Queues, capsys: pytest.CaptureFixture[str]) -> None:
    """It is given back to SQS, which makes a dead letter of it; its line has the reason, and no line has its text."""
    poison = ["{", claim(**{CANARY: 1}), claim(f"s3://partner-exports/{CANARY}\n", contract=CANARY + "/")]
    elsewhere = claim(f"s3://partner-exports/other/{CANARY}")
    kept = queues.send(poison[0], FORMS["claim"], *poison[1:], elsewhere)
    lines = queues.lines()

    assert kept == ["m0", "m2", "m3", "m4"]
    assert named(queues.stage) == [("partner/rows_v1", KEY, VERSION)]
    assert [(each["reason"], each["message_id"]) for each in lines if each["message"] == "unintelligible"] == [
        ("not-json", "m0"),
        ("unknown-key", "m2"),
        ("bad-id", "m3"),
    ]
    assert [(each["error"], each["detail"]) for each in lines if each["message"] == "failed"] == [
        ("InputError", "no contract that the queue is for has a folder with the object")
    ]
    written = queues.log.getvalue() + capsys.readouterr().out
    assert "Mustermann" not in written
    assert '"Unintelligible":[1.0,1.0,1.0]' in written.replace(" ", "")


# ---- Owners ----


OWNERS = {"shop": "s3://shop-exports/out/", "shop.eu": "s3://shop-exports/out-eu/", "shopping": "s3://shopping/"}
"""Contracts and folders that are as near to each other as names can be."""
QUEUES = {
    OWN: set(OWNERS),
    arn(f"{STACK}-named-exact"): {"shop"},
    arn(f"{STACK}-named-beginning"): {"shop.eu"},
    arn(f"{STACK}-named-wide"): set(OWNERS),
    arn(f"{STACK}-named-untagged"): set(),
    arn(f"{STACK}-named-absent"): set(),
    arn(f"{STACK}-named", "999999999999"): set(),
    arn(f"{STACK}-name"): set(),
    arn(f"other-{STACK}-named"): set(),
    arn(f"{STACK}-namedX-exact"): set(),
    "": set(),
}
"""Contracts that a queue is for: `tenant.yaml` writes a star as a slash, because no tag has a star."""


def addressed(folder: str, form: str, contract: str) -> str:
    bucket, _, path = folder.removeprefix("s3://").partition("/")
    if form == "notification":
        return notified(f"{path}a.csv").replace("partner-exports", bucket)
    if form == "EventBridge":
        return from_bridge(f"{path}a.csv").replace("partner-exports", bucket)
    return claim(f"{folder}a.csv", version=VERSION, **({"contract": contract} if form == "claim of a contract" else {}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_names_objects_of_its_own_contracts_only(queues: Queues, queue: str, form: str) -> None:
    """Every owner by every way: whatever the message says, an object of another owner's folder is not named."""
    for name, contracts in {"exact": "shop", "beginning": "shop./", "wide": "/", "untagged": None}.items():
        queues.owner(name, contracts)
    for contract, folder in OWNERS.items():
        publish(queues.stage, contract, folder)
    kept = [queues.send(addressed(folder, form, contract), queue=queue) for contract, folder in OWNERS.items()]

    assert {line.partition("/")[0] for line, _, _ in named(queues.stage)} == QUEUES[queue]
    assert [not each for each in kept] == [contract in QUEUES[queue] for contract in OWNERS]


def test_a_claim_of_another_contract_names_nothing(queues: Queues) -> None:
    """The contract of a message only narrows: neither its folder nor its queue is widened by it."""
    publish(queues.stage, "shop", OWNERS["shop"])
    exact = queues.owner("exact", "shop")
    kept = [
        queues.send(claim(f"{OWNERS['shop']}a.csv", contract="partner")),
        queues.send(claim(f"{OWNERS['shop']}a.csv", contract="partner"), queue=exact),
        queues.send(claim(KEY, contract="partner"), queue=exact),
        queues.send(claim(KEY, contract="nothing")),
    ]

    assert all(kept)
    assert named(queues.stage) == []


@pytest.mark.parametrize("contract", ["*", "p*", "partner*", "shop*"])
def test_a_star_in_a_claim_is_a_letter(queues: Queues, contract: str) -> None:
    """The contract of a message is an id, though the tag of a queue may be the beginning of ids."""
    exact, beginning = queues.owner("exact", "shop"), queues.owner("beginning", "shop./")
    kept = [queues.send(claim(KEY, contract=contract), queue=each) for each in (OWN, exact, beginning)]

    assert all(kept)
    assert named(queues.stage) == []


def test_every_dataset_of_the_folder_delivers_the_object(queues: Queues) -> None:
    """As both would pull a source by schedule: two major versions, and another contract over a part of the folder."""
    publish(queues.stage, "partner", FOLDER.source, "2.0.0")
    publish(queues.stage, "part", f"{FOLDER.source}part/")
    queues.send(claim(f"{FOLDER.source}part/a.csv"), claim(KEY))

    assert [(line, source.rpartition("/")[2]) for line, source, _ in named(queues.stage)] == [
        ("part/rows_v1", "a.csv"),
        ("partner/rows_v1", "a.csv"),
        ("partner/rows_v1", "rows.csv"),
        ("partner/rows_v2", "a.csv"),
        ("partner/rows_v2", "rows.csv"),
    ]


def test_folders_and_owners_are_read_once_a_minute(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst of messages does not read the registry for each."""
    pages, right = itertools.count(), type(queues.stage.dependencies.registry).page
    monkeypatch.setattr(
        type(queues.stage.dependencies.registry), "page", lambda *given: (next(pages), right(*given))[1]
    )
    queues.send(*[claim(KEY, version=f"v{each}") for each in range(20)])
    assert next(pages) == 1
    exact = queues.owner("exact", "shop")
    queues.send(claim(KEY), queue=exact)
    boto3.client("sqs", region_name=REGION).tag_queue(
        QueueUrl=boto3.client("sqs", region_name=REGION).get_queue_url(QueueName=f"{STACK}-named-exact")["QueueUrl"],
        Tags={TAG: "partner"},
    )
    before = queues.send(claim(KEY), queue=exact)
    queues.stage.env.memory.clock.sleep(61)

    assert (bool(before), queues.send(claim(KEY), queue=exact)) == (True, [])


def test_a_plan_is_read_once_and_what_was_read_stays(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of an owner that take long to read hold nobody up for good: a reading that ran out of time is continued."""
    for number in range(20):
        publish(queues.stage, f"large{number}", f"s3://large/{number}/")
    left = iter([100.0] * 5)
    short = replace(queues.stage.dependencies, remaining=lambda: next(left, 1.0), plans={})
    read = Mock(wraps=Plan.from_bytes)
    monkeypatch.setattr(Plan, "from_bytes", read)
    with monkeypatch.context() as patched:
        patched.setattr(naming_handler, "dependencies", lambda: short)
        given = [queues.send(claim(KEY), claim(KEY))]
        begun = read.call_count
    for _ in range(2):
        given.append(queues.send(claim(KEY)))
        queues.stage.env.memory.clock.sleep(61)

    assert ([len(each) for each in given], begun) == ([2, 0, 0], 5)
    assert read.call_count == 21 + 2  # and for each row that is written, what is current
    assert "HandlerError" not in queues.log.getvalue()


def test_an_object_of_many_datasets_ends_no_other_message(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function whose time is over would fail its whole batch: the message is left, and is gone on with."""
    for number in range(20):
        publish(queues.stage, f"many{number}", FOLDER.source)
    queues.send(claim("s3://nobody/x.csv"))  # the folders are known
    left = iter([100.0] * 8)
    short = replace(queues.stage.dependencies, remaining=lambda: next(left, 1.0))
    with monkeypatch.context() as patched:
        patched.setattr(naming_handler, "dependencies", lambda: short)
        kept, begun = queues.send(claim(KEY), claim(KEY, contract="partner")), len(named(queues.stage))
    again = queues.send(claim(KEY), claim(KEY, contract="partner"))

    assert (len(kept), begun) == (2, 8)
    assert (again, len(named(queues.stage))) == ([], 21)
    assert "HandlerError" not in queues.log.getvalue()


def test_a_contract_that_was_just_published_is_found(queues: Queues) -> None:
    """By the first message for its folder, which waits for the next reading of the folders instead of minutes."""
    queues.send(claim(KEY))
    publish(queues.stage, "shop", OWNERS["shop"])

    assert queues.send(claim(f"{OWNERS['shop']}a.csv")) == []


def test_messages_for_no_folder_cost_one_reading_and_one_wait(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many were sent at once, and though no time of theirs is known."""
    pages, right = itertools.count(), type(queues.stage.dependencies.registry).page
    monkeypatch.setattr(
        type(queues.stage.dependencies.registry), "page", lambda *given: (next(pages), right(*given))[1]
    )
    clock = queues.stage.dependencies.clock
    began = clock.now()
    refused = queues.send(*[claim(f"s3://nobody/{each}.csv") for each in range(20)])
    untimed = [each | {"attributes": {}} for each in (record("n0", claim("s3://nobody/x.csv")),)]
    naming_handler.handler({"Records": untimed}, Context())  # type: ignore[arg-type] # what it uses of it

    assert len(refused) == 20
    assert next(pages) == 3
    assert clock.now() - began == 2 * PAUSE


def test_a_contract_that_gave_up_its_folder_names_nothing(queues: Queues) -> None:
    """Though the folders that are known are a minute old: the row is written by what is current."""
    queues.send(claim(KEY))
    queues.stage.publish("1.0.1", pull=Pull("s3://partner-exports/new/"))

    assert queues.send(claim(KEY, version="v2")) != []
    assert [version for _, _, version in named(queues.stage)] == [""]

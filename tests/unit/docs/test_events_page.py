"""Every event that is sent fits its schema, and docs/events.md describes it."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from moto.events.models import EventPattern

from lakegate.aws.wiring import SOURCE, detail, detail_type
from lakegate.base.errors import InputError
from lakegate.base.json_schemas import load
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.effects import Effect
from lakegate.gate.ports import Message
from tests.fakes.jobs import Ending
from tests.published_schemas import validate
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.simulation.exhaustive import ASKING_TWICE
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, following
from tests.unit.cli.conftest import Lakegate

PAGE = (Path(__file__).parents[3] / "docs/events.md").read_text()
SAMPLE, RULE = map(json.loads, re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
BODY: Any = load("event")["$defs"]["EventBody"]["properties"]  # type: ignore[index] # of our own schema


def table(heading: str) -> set[str]:
    """The names in the first column of a table of the page."""
    rows = PAGE.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


CASES: dict[str, tuple[str, bytes, tuple[Ending, ...]]] = {
    "accepted": (f"{PREFIX}a.csv", b"good:1", ()),
    "rows apart": (f"{PREFIX}a.csv", b"split:12", ()),
    "rejected": (f"{PREFIX}a.csv", b"bad:1", ()),
    "refused at the door": (f"{PREFIX}a.csv", b"%PDF:1", ()),
    "unrouted": ("nowhere/a.csv", b"good:1", ()),
    "failed": (f"{PREFIX}a.csv", b"good:1", (Ending.FAILED,) * 3),
    "undecided": (f"{PREFIX}a.csv", b"error:1", ()),
    "gone": (f"{PREFIX}a.csv", b"good:1", ()),
    "awaiting": (f"{PREFIX}a.csv", b"good:1", ()),
    "passing": (f"{PREFIX}a.csv", b"good:1", ()),
}
WORKFLOWS = {"awaiting": ASKING, "passing": ASKING_TWICE}
"""Of cases that need another workflow than `push`."""


@cache
def sent(case: str) -> Message:
    """The first message about an upload; in the case `gone` its producer deletes it before it is staged."""
    key, body, endings = CASES[case]
    with following(WORKFLOWS[case]) if case in WORKFLOWS else nullcontext():
        env = Environment(list(endings))
        upload = env.upload(key, body)
        before = [(Effect.STAGE, lambda: env.delete(upload))] if case == "gone" else []
        settle(Stage(env, lambda _: Fault.NONE, before=before))
    messages = {each.id: each for each in env.memory.notifier.sent}
    assert len(messages) == (2 if case == "passing" else 1)
    return next(each for each in messages.values() if case not in WORKFLOWS or each.kind == case)


@pytest.mark.parametrize("case", CASES)
def test_an_event_fits_its_schema(case: str) -> None:
    """Whatever becomes of a delivery, its event is what the schema promises."""
    validate("event", detail(sent(case)))


def test_the_cases_above_have_every_end() -> None:
    """An end that is added to the protocol needs a case, a kind in the schema and a row on the page."""
    kinds = {state.lower() for state in {*END_STATES, State.AWAITING, State.PASSING}}
    properties: Any = load("event")["properties"]

    assert {sent(case).kind for case in CASES} == kinds == set(properties["kind"]["enum"])
    assert {detail_type(sent(case)) for case in CASES} == table("detail-type")


@pytest.mark.parametrize("failing", [0, 2])
def test_the_event_of_a_measured_delivery_fits_its_schema(lakegate: Lakegate, failing: int) -> None:
    """Rows and checks are counted, and the height is that of the block."""
    lakegate.routed()
    lakegate.delivered(failing)
    (message,) = lakegate.dependencies.outbox.pending(10)
    validate("event", detail(message))

    assert json.loads(message.body)["height"] == 0


def test_a_kind_with_another_state_fits_no_schema() -> None:
    """The schema is not a formality: a published event that was rejected is none."""
    wrong = detail(sent("rejected")) | {"kind": "published"}

    with pytest.raises(InputError, match=r"event\.json does not fit its schema"):
        validate("event", wrong)


def test_every_key_is_explained() -> None:
    """Of the detail and of its body, no more and no less than the schema has; the sample has all of a published delivery."""
    properties: Any = load("event")["properties"]

    assert table("key of `detail`") == set(properties)
    assert table("key of `detail.body`") == set(BODY)
    assert set(SAMPLE["detail"]["body"]) == set(BODY) - {"workflow_state"}


def test_every_event_about_a_line_is_explained() -> None:
    """Kinds and keys are those of the schema."""
    schema: Any = load("line-event")
    names = ("LifecycleEvent", "DriftEvent", "LateEvent", "PullEvent", "RevalidationEvent")
    lifecycle, drift, late, pull, revalidation = (set(schema["$defs"][name]["properties"]) for name in names)

    assert table("detail-type of a line") == {f"line {kind}" for kind in schema["properties"]["kind"]["enum"]}
    assert table("key of `detail.body` of a line") == lifecycle
    assert table("key of `detail.body` of drift") == drift
    assert table("key of `detail.body` of a missed promise") == late
    assert table("key of `detail.body` of a pull") == pull
    assert table("key of `detail.body` of a measurement by schedule") == revalidation


def test_the_sample_fits_the_schema() -> None:
    """It has the source and the detail-type that the adapter gives."""
    validate("event", SAMPLE["detail"])

    assert (SAMPLE["source"], SAMPLE["detail-type"]) == (SOURCE, detail_type(sent("accepted")))


def test_every_cause_is_in_the_schema_and_on_the_page() -> None:
    """A reader finds each code of a failed delivery."""
    assert {each.value for each in FailureCause} == {each for each in BODY["cause"]["enum"] if each}
    assert [each for each in BODY["cause"]["enum"] if each and f"`{each}`" not in PAGE] == []


def test_the_rule_chooses_published_data_of_one_line() -> None:
    """The pattern of the page matches the sample, and of the events above those that it should."""
    pattern = EventPattern.load(json.dumps(RULE))
    ours = EventPattern.load(json.dumps(RULE | {"detail": {"body": {"line": [LINE]}}}))
    chosen = {
        name
        for name, each in ((case, sent(case)) for case in CASES)
        if ours.matches_event({"source": SOURCE, "detail-type": detail_type(each), "detail": detail(each)})
    }

    assert pattern.matches_event(SAMPLE)
    assert chosen == {"accepted", "rows apart"}

"""An accepted delivery comes in the place of the one before of its name: block, event, readers, recall, and what stays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakegate.contract.delivery_policy import DeliveryUnit, Policy, Replaces
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.datasets.compare_manifest import manifest_faults
from lakegate.gate.datasets.current_deliveries import NotCurrent
from lakegate.gate.datasets.delivery_standing import standing_of
from lakegate.gate.datasets.replaced_deliveries import replaceable_name
from lakegate.gate.delivery.delivery_row import SourceObject, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import deliveries
from lakegate.plan.result import DeliveredPeriod, Result
from tests.decisions import recall, restore
from tests.fakes.identity import ALICE
from tests.simulation.contract import PLAN
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.simulation.sliced import PLAN as APPENDED
from tests.simulation.sliced import judged
from tests.simulation.sliced import settled as finished
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.test_recalls import BY_PERIOD
from tests.unit.gate.datasets.test_recall_delivery import by, events, head
from tests.unit.gate.scenarios import drive

DAY, NEXT = f"{PREFIX}2026-11-27.csv", f"{PREFIX}2026-11-28.csv"
OF_NAMES = replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.DELIVERY))
SOURCE = SourceObject("landing", DAY, "v1")
ROW = Workload("w1", SOURCE, State.DECIDED, None)


def replacing(*uploads: tuple[str, bytes]) -> tuple[Stage, list[Workload]]:
    """A dataset that replaces by names, in which these uploads were finished, one after the other."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    stage.env.publish("1.0.0", "active", OF_NAMES)
    return stage, delivered(stage, *uploads)


def delivered(stage: Stage, *uploads: tuple[str, bytes]) -> list[Workload]:
    landed = []
    for key, body in uploads:
        landed.append(stage.env.upload(key, body))
        settle(stage)
    return [stage.env.dependencies.workloads.get(upload.workload) for upload in landed]


def superseding(env: Environment) -> list[tuple[int, tuple[int, ...]]]:
    """Each delivery of the chain with the heights that it supersedes."""
    return [(block.height, block.supersedes) for block in deliveries(env.dependencies.ledger.blocks(LINE))]


def in_place(env: Environment, height: int) -> tuple[int | None, tuple[int, ...]]:
    """What is in the place of a delivery now, and in whose place it came."""
    found = standing_of(env.dependencies, LINE, height)
    return found.superseded_by.height if found.superseded_by else None, found.supersedes


def current(env: Environment) -> list[int]:
    return [accepted.height for accepted in newest_accepted(env.dependencies, LINE, 99)]


def test_a_delivery_of_the_same_name_takes_the_place_of_the_one_before() -> None:
    """Others stay. Block, manifest and references say so, and every object is still there."""
    stage, _ = replacing((DAY, b"good:1"), (NEXT, b"good:2"), (DAY, b"good:3"), (DAY, b"good:4"))

    assert superseding(stage.env) == [(0, ()), (1, ()), (2, (0,)), (3, (2,))]
    assert current(stage.env) == [3, 1]
    assert [in_place(stage.env, height) for height in range(4)] == [(3, ()), (None, ()), (3, (0,)), (None, (2,))]
    assert head(stage.env)["not_current"]["superseded"] == [[0, 0], [2, 2]]
    assert len([key for key in stage.env.lake if f"accepted/{LINE}/ingest_date=" in key]) == 4
    assert not list(manifest_faults(stage.env.dependencies, LINE, 3))


def test_the_event_names_what_was_replaced() -> None:
    """By height; the member is absent from the event of a delivery that replaces nothing."""
    stage, rows = replacing((DAY, b"good:1"), (DAY, b"good:2"))
    bodies = {sent.workload: json.loads(sent.body) for sent in stage.env.memory.notifier.sent if not sent.dataset}

    assert [bodies[row.id].get("supersedes") for row in rows] == [None, [0]]


@pytest.mark.parametrize("body", [b"bad:2", b"%PDF:2"])
def test_what_is_rejected_replaces_nothing(body: bytes) -> None:
    """The one before stays current, and the next accepted one replaces it."""
    stage, _ = replacing((DAY, b"good:1"), (DAY, body))
    assert current(stage.env) == [0]
    delivered(stage, (DAY, b"good:3"))

    assert superseding(stage.env) == [(0, ()), (1, ()), (2, (0,))]
    assert current(stage.env) == [2]


def test_the_recall_of_a_replacement_gives_the_former_state_back() -> None:
    """A late old file is taken back this way; a third delivery then supersedes both."""
    stage, rows = replacing((DAY, b"good:1"), (DAY, b"good:2"))
    person = by(stage.env, ALICE)
    drive(person, recall(person, rows[1].id, "an older export"))
    assert current(stage.env) == [0]
    assert [body["changed_with"] for _, body in events(stage.env)] == [[{"workload": rows[0].id, "height": 0}]]
    delivered(stage, (DAY, b"good:3"))

    assert superseding(stage.env) == [(0, ()), (1, (0,)), (3, (1,))]
    assert current(stage.env) == [3]
    assert [in_place(stage.env, height) for height in (0, 1, 3)] == [(3, ()), (3, (0,)), (None, (1,))]
    drive(person, restore(person, rows[1].id, "it was right"))
    assert current(stage.env) == [3]


def test_a_dataset_replaces_from_the_moment_on_that_its_contract_says_so() -> None:
    """Deliveries before have no name; those after it stops are not replaced, and replace nothing."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    delivered(stage, (DAY, b"good:1"))
    stage.env.publish("1.0.0", "active", OF_NAMES)
    delivered(stage, (DAY, b"good:2"), (DAY, b"good:3"))
    stage.env.publish("1.0.0", "active", PLAN)
    delivered(stage, (DAY, b"good:4"))

    assert superseding(stage.env) == [(0, ()), (1, ()), (2, (1,)), (3, ())]


def test_content_that_was_accepted_is_refused_also_where_it_was_replaced() -> None:
    """`duplicates: refuse` is about content, not about the current state: whoever wants it back recalls the later one."""
    stage, _ = replacing((DAY, b"good:1"), (DAY, b"good:2"), (DAY, b"good:1"))
    assert superseding(stage.env) == [(0, ()), (1, (0,)), (2, ())]
    assert current(stage.env) == [1]


@pytest.mark.parametrize(
    ("row", "same"),
    [
        (ROW, True),
        (ROW._replace(id="w2", source=replace(SOURCE, version="v2")), True),
        (ROW._replace(source=replace(SOURCE, bucket="lake", key="quarantine/part-00000"), landed=SOURCE), True),
        (ROW._replace(source=replace(SOURCE, key=NEXT)), False),
        (ROW._replace(source=replace(SOURCE, key=DAY.upper())), False),
        (ROW._replace(parts=SOURCE), False),
    ],
    ids=["itself", "another version", "a replay", "another key", "other capitals", "a folder"],
)
def test_the_name_is_the_whole_key(row: Workload, same: bool) -> None:  # noqa: FBT001 - a column of the table
    """Of the landed object, also where a quarantined copy of it is judged again."""
    policy = Policy(replaces=Replaces.DELIVERY)

    gate = Environment().dependencies

    assert (replaceable_name(gate, row, policy, None) == replaceable_name(gate, ROW, policy, None)) is same
    assert replaceable_name(gate, row, Policy(), None) == ""


@pytest.mark.parametrize("last", ["_SUCCESS", "_delivery.json", ""])
def test_the_name_of_several_objects_is_their_folder(last: str) -> None:
    """Whichever object completed them."""
    policy = Policy(replaces=Replaces.DELIVERY, delivery=DeliveryUnit.SUCCESS)
    gate = Environment().dependencies
    names = [
        replaceable_name(gate, ROW._replace(source=replace(SOURCE, key=f"{PREFIX}{key}"), parts=SOURCE), policy, None)
        for key in (f"2026-11-27/{last}", f"2026-11-28/{last}", "2026-11-27/_SUCCESS")
    ]

    assert [name == names[0] for name in names] == [True, False, True]
    assert all(len(name) == 64 for name in names)


@pytest.mark.parametrize(
    ("period", "named"),
    [
        (DeliveredPeriod(1, has_rows_without=False, digest="a" * 64), True),
        (DeliveredPeriod(2, has_rows_without=False, digest=None), False),
        (None, False),
    ],
    ids=["one period", "several, observed", "no accepted rows"],
)
def test_a_delivery_without_one_period_has_no_name(period: DeliveredPeriod | None, named: bool) -> None:  # noqa: FBT001 - a column of the table
    """Observed, waived or empty: it replaces nothing, and nothing replaces it. The name of a file makes no difference."""
    gate, policy = Environment().dependencies, Policy(replaces=Replaces.PERIOD, period="day")
    result = Result("w1", 1, "d" * 64, "v1", rows=1, period=period)
    other = ROW._replace(source=replace(SOURCE, key=NEXT))
    names = [replaceable_name(gate, row, policy, result) for row in (ROW, other)]

    assert (names[0] == names[1], bool(names[0])) == (True, named)
    assert replaceable_name(gate, ROW, policy, None) == ""
    assert replaceable_name(gate, ROW, replace(policy, period="month"), result) != names[0] or not named


def test_slices_that_are_appended_are_replaced_as_files_are() -> None:
    """Offsets go on without a gap, and the log keeps what was replaced; the current state has the later slices alone."""
    line = judged(b"good:1", plan=replace(APPENDED, policy=replace(APPENDED.policy, replaces=Replaces.DELIVERY)))
    finished(line)
    (first,) = line.env.uploads
    line.env.upload(first.version.key, b"good:2")
    line.take_in()
    finished(line)

    assert superseding(line.env) == [(0, ()), (1, (0,))]
    assert current(line.env) == [1]
    assert line.delivered() == [b"good:1", b"good:2"]
    assert [
        piece.offset for block in deliveries(line.env.dependencies.ledger.blocks(LINE)) for piece in block.slices or ()
    ] == [0, 6]


def test_a_period_is_delivered_again_under_any_name() -> None:
    """What has another period stays, whatever it is called."""
    stage = Stage(Environment(periods=True), lambda _: Fault.NONE)
    stage.env.publish("1.0.0", "active", BY_PERIOD)
    delivered(stage, (DAY, b"good:1"), (DAY, b"good:2"), (NEXT, b"good:1x"))

    assert superseding(stage.env) == [(0, ()), (1, ()), (2, (0,))]
    assert current(stage.env) == [2, 1]


def test_the_state_is_derived_by_the_one_fold() -> None:
    """The head of the manifest has it as ranges."""
    stage, _ = replacing(*((DAY, b"good:%d" % number) for number in range(4)))
    since = stage.env.dependencies.ledger.blocks(LINE)[-1].system_time

    assert head(stage.env)["not_current"] == {
        "height": 3,
        "since": since,
        "recalled": [],
        "superseded": [[0, 2]],
    }
    assert NotCurrent(3, since, (), ((0, 2),)).why(2) == "superseded"

"""A person recalls an accepted delivery, and restores it: ledger, manifest, event, references; with others at the same time."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import AccessDenied, InputError
from lakegate.gate.carry_out_decision import legal
from lakegate.gate.datasets.accepted_deliveries import newest_accepted, not_current_at
from lakegate.gate.datasets.compare_manifest import manifest_faults
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.readers_manifest import newest
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from tests.decisions import recall, restore
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.sliced import LEDGER, UPSERTS, judged
from tests.simulation.sliced import PLAN as APPENDED
from tests.simulation.sliced import settled as finished
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import drive, refused_at

REASON = "the export was of the wrong month"


def filled(*bodies: bytes) -> tuple[Environment, list[Workload]]:
    """An environment in which these uploads were finished, one after the other."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    uploads = []
    for number, body in enumerate(bodies):
        uploads.append(stage.env.upload(f"{PREFIX}{number}.csv", body))
        settle(stage)
    return stage.env, [stage.env.dependencies.workloads.get(each.workload) for each in uploads]


def by(env: Environment, actor: str) -> Dependencies:
    return replace(env.dependencies, identity=MemoryIdentity(actor))


def head(env: Environment) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(env.dependencies.objects.read(Address(LAKE, manifest_key(LINE))))
    return document


def records(env: Environment) -> list[tuple[str, str, object]]:
    blocks = env.dependencies.ledger.blocks(LINE)
    return [(each.kind, each.actor, each.content) for each in blocks if isinstance(each, Record)]


def read(env: Environment, height: int = 99) -> list[int]:
    """The heights that references of rules are compared with."""
    return [each.height for each in newest_accepted(env.dependencies, LINE, height)]


def events(env: Environment) -> list[tuple[str, dict[str, Any]]]:
    env.memory.clock.sleep(60)  # the index lags
    return [(each.kind, json.loads(each.body)) for each in env.dependencies.outbox.pending(100) if each.dataset]


def test_a_recalled_delivery_leaves_the_current_state_and_nothing_is_deleted() -> None:
    """Manifest, references and drift leave it out; objects, block and row stay as they are; any earlier height has it."""
    env, rows = filled(b"good:1", b"good:2", b"good:3")
    before, objects = head(env), {key for key in env.lake if key.startswith("accepted/")}
    drive(by(env, ALICE), recall(by(env, ALICE), rows[1].id, f" {REASON} "))

    at = env.dependencies.ledger.blocks(LINE)[-1].system_time
    content = {"workload": rows[1].id, "height": 1, "reason": REASON}
    assert records(env) == [("recall", ALICE, content)]
    state = {"height": 3, "since": at, "recalled": [[1, 1]], "superseded": []}
    assert head(env) == before | {
        "height": 3,
        "not_current": state,
        "segments": {"count": 2, "heights": 2},
        "deliveries": [],
    }
    assert read(env) == [2, 0]
    assert read(env, 2) == [2, 1, 0]
    assert [each["height"] for each in newest(env.dependencies, LINE, 9)] == [2, 0]
    assert not_current_at(env.dependencies, LINE, 2).why(1) is None
    assert {key for key in env.lake if key.startswith("accepted/")} >= objects
    assert env.dependencies.workloads.get(rows[1].id) == rows[1]
    assert not list(manifest_faults(env.dependencies, LINE, 3))


def test_who_may_not_read_the_manifest_asks_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """History and report are for people who read the ledger, and not all accepted data."""
    env, rows = filled(b"good:1", b"good:2")
    drive(env.dependencies, recall(env.dependencies, rows[1].id, REASON))

    def denied(*_: object) -> bytes:
        raise AccessDenied

    monkeypatch.setattr(env.memory.objects, "read", denied)
    assert [not_current_at(env.dependencies, LINE).why(height) for height in range(3)] == [None, "recalled", None]


def test_it_is_restored_and_recalled_again() -> None:
    """Each act is a record of its own; repeated, it is none."""
    env, (row,) = filled(b"good:1")
    for act, reason in ((recall, "one"), (recall, "two"), (restore, "three"), (restore, "four"), (recall, "five")):
        drive(env.dependencies, act(env.dependencies, row.id, reason))

    assert [(kind, content["reason"]) for kind, _, content in records(env)] == [  # type: ignore[index]
        ("recall", "one"),
        ("restore", "three"),
        ("recall", "five"),
    ]
    assert read(env) == []
    assert [read(env, height) for height in range(4)] == [[0], [], [0], []]


def test_every_subscriber_hears_it() -> None:
    """With the delivery, who and why; once for each act."""
    env, (row, _) = filled(b"good:1", b"good:2")
    drive(env.dependencies, change(env.dependencies, LINE, "", lambda each, now: add_subscription(each, now, "sales")))
    drive(by(env, ALICE), recall(by(env, ALICE), row.id, REASON))
    drive(by(env, BOB), restore(by(env, BOB), row.id, "it was right"))

    shared = {
        "line": LINE,
        "workload": row.id,
        "height": 0,
        "subscribers": [{"team": "sales", "audience": "consumer", "to": []}],
        "accepted_at": env.dependencies.ledger.blocks(LINE)[0].system_time,
    }
    assert events(env) == [
        ("recalled", shared | {"actor": ALICE, "reason": REASON, "current": False}),
        ("restored", shared | {"actor": BOB, "reason": "it was right", "current": True}),
    ]


def test_the_next_sweep_lists_it_where_the_caller_may_not() -> None:
    """As over the HTTP API: the record counts at once, the manifest follows."""
    env, (row,) = filled(b"good:1")
    drive(env.dependencies, recall(env.dependencies.without_lease(), row.id, REASON))
    assert ("not_current" in head(env), read(env)) == (False, [])
    env.memory.clock.sleep(60)  # the index lags
    drive(env.dependencies, sweep(env.dependencies))
    assert head(env)["not_current"]["recalled"] == [[0, 0]]


def test_two_acts_at_once_are_one_after_the_other() -> None:
    """Of two recalls of one delivery one is recorded, of two deliveries both, and none is lost to a commit between."""
    env, rows = filled(b"good:1", b"good:2")

    def meanwhile() -> None:
        drive(by(env, BOB), recall(by(env, BOB), rows[0].id, "first"))
        drive(by(env, BOB), recall(by(env, BOB), rows[1].id, "other"))

    refused_at(env, Effect.RECORD, recall(by(env, ALICE), rows[1].id, REASON), meanwhile)
    assert [(kind, actor) for kind, actor, _ in records(env)] == [("recall", BOB), ("recall", BOB)]

    def between() -> None:
        drive(by(env, BOB), restore(by(env, BOB), rows[0].id, "again"))

    refused_at(env, Effect.RECORD, restore(by(env, ALICE), rows[1].id, REASON), between)
    assert [(kind, actor) for kind, actor, _ in records(env)][2:] == [("restore", BOB), ("restore", ALICE)]
    assert read(env) == [1, 0]


@pytest.mark.parametrize("act", [recall, restore])
@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 501])
def test_a_reason_is_one_line(act: Any, reason: str) -> None:
    """Every consumer reads it."""
    env, (row,) = filled(b"good:1")
    with pytest.raises(InputError, match="one line of at most 500"):
        drive(env.dependencies, act(env.dependencies, row.id, reason))
    assert not records(env)


def test_only_what_is_accepted_is_recalled_and_only_what_was_recalled_restored() -> None:
    """Decisions that are legal say so before."""
    env, (good, bad) = filled(b"good:1", b"bad:1")
    for row, act, refusal in (
        (bad, recall, f"only an accepted delivery can be recalled or restored, and {bad.id[:12]} is QUARANTINED"),
        (good, restore, f"{good.id[:12]} was not recalled"),
    ):
        with pytest.raises(InputError, match=refusal):
            drive(env.dependencies, act(env.dependencies, row.id, REASON))
    assert [legal(env.dependencies, each) for each in (good, bad)] == [("recall",), ("replay", "waive")]
    drive(env.dependencies, recall(env.dependencies, good.id, REASON))
    assert legal(env.dependencies, good) == ("recall", "restore")


@pytest.mark.parametrize(("plan", "is_merged"), [(APPENDED, False), (LEDGER, True), (UPSERTS, True)])
def test_rows_that_were_merged_are_not_recalled(plan: Plan, is_merged: bool) -> None:  # noqa: FBT001 - a parameter
    """Later slices correct them; slices that are appended are left out as files are."""
    line = judged(b"good:1", plan=plan)
    finished(line)
    (row,) = line.rows()
    refusal = pytest.raises(InputError, match="its rows were merged into slices") if is_merged else nullcontext()
    with refusal:
        drive(line.env.dependencies, recall(line.env.dependencies, row.id, REASON))
    assert len(records(line.env)) == (0 if is_merged else 1)


def test_the_manifest_is_compared_with_the_ledger() -> None:
    """A head that leaves out too much, or too little, is untrue; one that does not show an act of an hour ago, unlisted."""
    env, (row, _) = filled(b"good:1", b"good:2")
    drive(env.dependencies, recall(env.dependencies, row.id, REASON))
    where, true = Address(LAKE, manifest_key(LINE)), head(env)
    for changed in (
        {"not_current": true["not_current"] | {"recalled": []}},
        {"not_current": true["not_current"] | {"superseded": [[1, 1]]}},
        {"not_current": None},
    ):
        document = {name: value for name, value in (true | changed).items() if value is not None or name == "lifecycle"}
        env.dependencies.objects.put(where, json.dumps(document, sort_keys=True).encode())
        assert [each.what for each in manifest_faults(env.dependencies, LINE, 2)] == ["untrue"]

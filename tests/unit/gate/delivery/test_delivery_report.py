"""The report that the gate writes for every finished delivery, and that nothing waits for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakegate.base.errors import AccessDenied, PortError, Throttled
from lakegate.contract.delivery_policy import DeliveryUnit, Replaces
from lakegate.gate.delivery import clean_up
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.find_deliveries import delivery_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.decisions import recall
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.parts import FOLDER, complete
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.delivery.test_multi_file_deliveries import environment, finish, only
from tests.unit.gate.scenarios import KEY, answered, drive, refused_at
from tests.unit.report.test_delivery_report import Page


def finished(body: bytes, key: str = KEY, *more: bytes) -> tuple[Environment, Workload]:
    """An environment in which uploads ended, with the row of the last one."""
    env = Environment()
    uploads = [env.upload(f"{key}{number or ''}", each) for number, each in enumerate((body, *more))]
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(uploads[-1].workload)


def written(env: Environment, row: Workload) -> Page:
    """Its report."""
    return Page(env.memory.objects.current(LAKE)[f"runs/{row.id}/report.html"].decode())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"good:1", "Accepted: 6 rows Every check that was measured passed."),
        (b"split:1", "Accepted with warnings: 6 of 7 rows published, 1 rejected Change first: name :"),
        (b"bad:1", "Rejected: 5 rows Change first: amount : wanted ; measured 2. 2 more reasons ."),
    ],
)
def test_a_finished_delivery_has_a_report_beside_its_results(body: bytes, words: str) -> None:
    """It is HTML, and shows verdict, file, contract, times, place and the line's deliveries."""
    env, row = finished(body)
    stored = env.memory.objects.head(Address(LAKE, f"runs/{row.id}/report.html"))
    page = written(env, row)

    assert env.memory.objects.content_types[stored.version] == "text/html; charset=utf-8"
    assert words in page.text
    assert f"Files {KEY} Dataset lines Contract orders 1.0.0" in page.text
    assert f"Workload {row.id} Taken in 20" in page.text
    assert "Completed 20" in page.text
    folder = "quarantine" if row.state is State.QUARANTINED else "accepted"
    assert f"The data is at s3://{LAKE}/{folder}/{LINE}/ingest_date=" in page.text
    assert "The last 1 delivery" in page.text


def test_a_delivery_that_was_refused_at_the_door_has_one_too() -> None:
    """Nothing was measured: the reasons are those of the door."""
    env, row = finished(b"%PDF:1")
    page = written(env, row)

    assert "Rejected: its rows were not read Change first: " in page.text
    assert "file/readable" in page.text
    assert "All checks" not in page.text


def test_a_key_without_a_route_is_explained() -> None:
    """Codes of the gate are explained as `reasons` explains them; deliveries of no line have no history."""
    env, row = finished(b"good:1", "elsewhere/day.csv")
    page = written(env, row)

    assert "Change first: no route covers this key: ask for one" in page.text
    assert "Contract" not in page.text
    assert "deliver" not in page.labels


def test_a_duplicate_names_its_reason_before_checks_that_passed() -> None:
    """The reason of the gate is what to change first, although each check passed."""
    env, row = finished(b"good:1", KEY, b"good:1")
    page = written(env, row)

    assert "Change first: the very same content was accepted before" in page.text


def test_a_delivery_of_parts_names_all_its_files() -> None:
    """Rows are named by the file that has them."""
    env = environment(bodies=(b"good:1", b"bad:1"))
    complete(env, DeliveryUnit.SUCCESS)
    finish(env)
    page = written(env, only(env))

    assert f"Files {FOLDER}0.csv, {FOLDER}1.csv" in page.text


def test_the_cost_is_shown() -> None:
    """What its attempts cost, with what was used and the day of the prices."""
    env, row = finished(b"good:1")
    assert row.cost is not None
    shown = clean_up.page_of(env.dependencies, delivery_of(row))

    assert f"{row.cost.money:.6f} USD (" in Page(shown).text
    assert f"prices of {row.cost.dated})" in Page(shown).text


def test_what_was_replaced_is_named_on_both_pages() -> None:
    """That of the later delivery when it is written, that of the earlier one when it is made again; not once it is recalled."""
    env = Environment()
    env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.DELIVERY)))
    stage, uploads = Stage(env, lambda _: Fault.NONE), []
    for body in (b"good:1", b"good:2"):
        uploads.append(env.upload(KEY, body))
        settle(stage)
    before, after = (env.dependencies.workloads.get(each.workload) for each in uploads)

    def again() -> list[str]:
        return [Page(clean_up.page_of(env.dependencies, delivery_of(row))).text for row in (before, after)]

    assert f" Replaces {before.id} of 20" in written(env, after).text
    assert "Replace" not in written(env, before).text
    assert [word for text in again() for word in ("Replaced by", "Replaces") if word in text] == [
        "Replaced by",
        "Replaces",
    ]
    assert f" Replaced by {after.id} of 20" in again()[0]
    drive(env.dependencies, recall(env.dependencies, after.id, "wrong again"))
    assert "Replaced by" not in again()[0]


def test_what_cannot_be_rendered_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in rendering costs the details, never the delivery."""

    def broken(*_: object) -> str:
        raise KeyError

    monkeypatch.setattr(clean_up, "page_of", broken)
    env, row = finished(b"bad:1")
    page = written(env, row)

    assert (row.state, row.due_at) == (State.QUARANTINED, None)
    assert "Rejected: its rows were not read" not in page.text
    assert f"Not shown the checks: KeyError; see lakegate reasons {row.id}" in page.text
    assert "amount" in page.text


@pytest.mark.parametrize("refusal", [AccessDenied(), Throttled()])
def test_a_report_that_is_refused_is_tried_again_for_a_day(refusal: PortError, monkeypatch: pytest.MonkeyPatch) -> None:
    """All else of the delivery is done before; after a day it is closed without a report."""
    env, row = answered()
    put = env.memory.objects.put

    def refused(to: Address, *words: object, **options: object) -> object:
        if to.key.endswith("report.html"):
            raise refusal
        return put(to, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(env.memory.objects, "put", refused)
    with pytest.raises(type(refusal)):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    row = env.dependencies.workloads.get(row.id)
    assert (row.state, row.due_at is None) == (State.PUBLISHED, False)
    assert env.memory.objects.current(LAKE, "staging/") == {}

    env.memory.clock.sleep(86_400)
    drive(env.dependencies, sweep(env.dependencies))

    assert env.dependencies.workloads.get(row.id).due_at is None


def test_what_cannot_be_read_now_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that is throttled is no reason to write a report without its details."""
    env, row = answered()
    with monkeypatch.context() as patch:
        patch.setattr(type(env.dependencies.history), "entries", lambda *_, **__: (_ for _ in ()).throw(Throttled))
        with pytest.raises(Throttled):
            drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))

    assert "The last 1 delivery" in written(env, row).text


def test_a_report_is_written_once() -> None:
    """Of two workers, the second leaves what the first wrote."""
    env, row = answered()
    where = Address(LAKE, f"runs/{row.id}/report.html")

    refused_at(
        env,
        Effect.WRITE_REPORT,
        advance(DeliveryTurn(env.dependencies, row)),
        lambda: env.memory.objects.put(where, b"first", absent=True),
    )

    assert env.memory.objects.read(where) == b"first"
    assert env.dependencies.workloads.get(row.id).due_at is None


def test_events_name_the_report_of_a_finished_delivery() -> None:
    """One that failed has none."""
    env, row = finished(b"good:1")
    failed, other = finished(b"error:1")
    events = [json.loads(each.body) for each in (*env.memory.notifier.sent, *failed.memory.notifier.sent)]

    assert other.state is State.FAILED
    assert [each["report"] for each in events] == [f"s3://{LAKE}/runs/{row.id}/report.html", None]


def test_a_failed_delivery_with_a_result_can_be_reported() -> None:
    """The verdict is computed again, and the data is where it landed."""
    env, row = finished(b"error:1")
    page = Page(clean_up.page_of(env.dependencies, delivery_of(row)))

    assert "Undecided" in page.text
    assert f"The data is at s3://{row.source.bucket}/{row.source.key}" in page.text


def test_the_block_names_the_objects() -> None:
    """A command that has read the block shows each object."""
    env, row = finished(b"split:1")
    block = env.memory.chains[LINE][0]
    page = Page(clean_up.page_of(env.dependencies, delivery_of(row, block)))  # type: ignore[arg-type]

    assert page.text.count(f"workload={row.id}/") == len(block.objects)  # type: ignore[union-attr]

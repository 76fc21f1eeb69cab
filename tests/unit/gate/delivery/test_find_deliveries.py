"""What has become of deliveries, found in what the protocol leaves behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from lakegate.base.errors import AccessDenied, InputError, NotFound, UnreadableItem
from lakegate.gate.datasets import dataset_names
from lakegate.gate.delivery import find_deliveries
from lakegate.gate.delivery.decide_verdict import measured_result
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.find_deliveries import Delivery, find_delivery, first_of_content, recent
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import Agenda, Workloads
from lakegate.gate.effects import Alarm
from lakegate.gate.ledger.commit import append
from lakegate.gate.ports import Address, VersionPage
from lakegate.gate.registry.registry_rows import Publication, Route
from tests.fakes.jobs import Ending
from tests.fakes.objects import PAGE, MemoryObjects
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment, Upload
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import drive

PLANS = (("lines", DIGESTS["1.0.0"]),)
DUPLICATED = {"first": b"good:1", "again": b"good:1", "bad": b"bad:1", "refused": b"%PDF:1"}
ROUTE = Route(LANDING, PREFIX, "orders", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])


def world_of(*endings: Ending) -> Stage:
    """An environment with a registry as the command publishes it, and its stage."""
    env = Environment(endings=list(endings))
    env.memory.registry.publish(Publication("orders", "1.0.0", "active", "contracts/1.0.0", (ROUTE,), plans=PLANS))
    return Stage(env, lambda _: Fault.NONE)


def finished(stage: Stage, name: str, body: bytes = b"good:1") -> Upload:
    """One upload, carried to its end; a minute passes."""
    upload = stage.env.upload(name, body)
    settle(stage)
    stage.env.memory.clock.sleep(60)
    return upload


def keys(stage: Stage, limit: int = 20) -> list[tuple[str, State | None]]:
    return [(each.key, each.row.state if each.row else None) for each in recent(stage.env.dependencies, limit)]


def test_the_latest_deliveries_are_listed_wherever_they_stand() -> None:
    """Finished, refused, unrouted, running, not yet claimed: all of them, the newest first."""
    stage = world_of()
    finished(stage, f"{PREFIX}good.csv")
    finished(stage, f"{PREFIX}bad.csv", b"bad:1")
    finished(stage, "stray.csv")
    stage.env.upload(f"{PREFIX}running.csv", b"good:2")
    drive(stage.env.dependencies, intake(stage.env.dependencies, LANDING, f"{PREFIX}running.csv"))
    stage.env.memory.clock.sleep(60)
    stage.env.upload(f"{PREFIX}new.csv", b"good:3")

    assert keys(stage) == [
        (f"{PREFIX}new.csv", None),
        (f"{PREFIX}running.csv", State.VALIDATING),
        ("stray.csv", State.QUARANTINED),
        (f"{PREFIX}bad.csv", State.QUARANTINED),
        (f"{PREFIX}good.csv", State.PUBLISHED),
    ]
    assert keys(stage, 1) == [(f"{PREFIX}new.csv", None)]


def test_a_finished_delivery_is_listed_with_its_block() -> None:
    """Rows, objects and the time come from the ledger."""
    stage = world_of()
    finished(stage, f"{PREFIX}day.csv")
    (delivery,) = recent(stage.env.dependencies, 5)

    assert delivery.block == stage.env.dependencies.ledger.blocks(LINE)[0]
    assert delivery == find_delivery(stage.env.dependencies, delivery.id, 5)


def test_a_failed_delivery_is_listed_because_it_still_lies_where_it_landed() -> None:
    """Nothing that needs a person is out of sight."""
    stage = world_of(*[Ending.FAILED] * 3)
    upload = finished(stage, f"{PREFIX}day.csv")

    assert keys(stage) == [(f"{PREFIX}day.csv", State.FAILED)]
    with pytest.raises(NotFound):
        measured_result(DeliveryTurn(stage.env.dependencies, stage.env.dependencies.workloads.get(upload.workload)))


def test_a_failed_replay_is_listed_beside_what_it_replays() -> None:
    """Its source lies in quarantine, so neither landing nor ledger know of it."""
    stage = world_of(Ending.ANSWERED, *[Ending.FAILED] * 3)
    upload = finished(stage, f"{PREFIX}day.csv", b"bad:1")
    stage.replay(upload.workload)
    settle(stage)
    states = {each.id: each.row.state for each in recent(stage.env.dependencies, 5) if each.row}

    assert states == {upload.workload: State.QUARANTINED, replay_id(upload.workload): State.FAILED}


def test_a_key_names_the_upload_even_where_only_its_replay_is_among_the_latest() -> None:
    """A replay has the key of what it replays: the key leads back to the upload, however long ago that was."""
    stage = world_of()
    upload = finished(stage, f"{PREFIX}bad.csv", b"bad:1")
    stage.env.memory.clock.sleep(60)
    stage.replay(upload.workload)
    settle(stage)
    (latest,) = recent(stage.env.dependencies, 1)

    assert latest.id == replay_id(upload.workload)
    assert find_delivery(stage.env.dependencies, f"{PREFIX}bad.csv", 1).id == upload.workload


def test_a_duplicate_leads_to_who_brought_the_content_first() -> None:
    """Content that was not accepted belongs to nobody, nor does content that was not read."""
    stage = world_of()
    uploads = [finished(stage, f"{PREFIX}{name}.csv", body) for name, body in DUPLICATED.items()]
    rows = [stage.env.dependencies.workloads.get(each.workload) for each in uploads]
    firsts = [first_of_content(DeliveryTurn(stage.env.dependencies, row)) for row in rows]

    assert [row.decision.verdict for row in rows if row.decision] == ["accepted", "rejected", "rejected", "rejected"]
    assert [each and each.id for each in firsts] == [rows[0].id, rows[0].id, None, None]


def test_a_duplicate_leads_nowhere_for_who_may_not_read_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner of contracts is shown the delivery, without the one that brought the content first."""
    stage = world_of()
    uploads = [finished(stage, f"{PREFIX}{name}.csv", b"good:1") for name in ("one", "again")]
    row = stage.env.dependencies.workloads.get(uploads[1].workload)
    monkeypatch.setattr(Agenda, "owner", Mock(side_effect=AccessDenied("GetItem")))

    assert row.decision is not None
    assert (row.decision.reasons, first_of_content(DeliveryTurn(stage.env.dependencies, row))) == (
        ("duplicate-content",),
        None,
    )


def test_what_is_gone_is_found_by_its_id_alone() -> None:
    """The version is deleted, and nothing was published or quarantined."""
    stage = world_of()
    upload = stage.env.upload(f"{PREFIX}day.csv", b"good:1")
    steps = intake(stage.env.dependencies, LANDING, f"{PREFIX}day.csv")
    next(steps).do()
    stage.env.delete(upload)
    steps.close()
    settle(stage)
    gone = find_delivery(stage.env.dependencies, upload.workload, 5)

    assert keys(stage) == []
    assert gone.row is not None
    assert (gone.row.state, gone.at, gone.block) == (State.GONE, None, None)


def test_a_delivery_is_found_by_the_beginning_of_its_id_or_by_its_key() -> None:
    """Of several versions of one key, the newest."""
    stage = world_of()
    first = finished(stage, f"{PREFIX}day.csv", b"good:1")
    second = finished(stage, f"{PREFIX}day.csv", b"good:2")

    assert first.workload == find_delivery(stage.env.dependencies, first.workload[:6], 5).id
    assert second.workload == find_delivery(stage.env.dependencies, f"{PREFIX}day.csv", 5).id


@pytest.mark.parametrize("name", ["", "0", "a1b2c3", "unknown.csv", "0" * 64, "x" * 64])
def test_what_is_missing_is_reported(name: str) -> None:
    """Neither a short beginning nor an unknown id is guessed at."""
    stage = world_of()
    finished(stage, f"{PREFIX}day.csv")
    with pytest.raises(InputError):
        find_delivery(stage.env.dependencies, name, 5)


def test_a_beginning_that_several_share_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two deliveries whose ids begin alike: the person is asked for the whole id."""
    stage = world_of()
    same = [replace(at, id="abcdef" + at.id[6:]) for at in _two(stage)]
    monkeypatch.setattr(find_deliveries, "recent", lambda _dependencies, _limit: tuple(same))
    with pytest.raises(InputError, match="2 of the latest"):
        find_delivery(stage.env.dependencies, "abcdef", 5)


def _two(stage: Stage) -> tuple[Delivery, ...]:
    for name in ("a", "b"):
        finished(stage, f"{PREFIX}{name}.csv", f"good:{name}".encode())
    return recent(stage.env.dependencies, 2)


def test_the_result_of_a_decision_is_read() -> None:
    """Of the attempt that was decided on; a refusal at the door has none."""
    stage = world_of()
    judged = finished(stage, f"{PREFIX}day.csv")
    refused = finished(stage, f"{PREFIX}junk.csv", b"%PDF")
    rows = stage.env.dependencies.workloads

    assert b'"attempt":1' in (measured_result(DeliveryTurn(stage.env.dependencies, rows.get(judged.workload))) or b"")
    assert measured_result(DeliveryTurn(stage.env.dependencies, rows.get(refused.workload))) is None


def test_a_result_that_is_another_than_decided_on_is_an_alarm() -> None:
    """What is shown as the reason for a verdict is what the verdict was made of."""
    stage = world_of()
    upload = finished(stage, f"{PREFIX}day.csv")
    stage.env.memory.objects.put(Address(LAKE, f"runs/{upload.workload}/attempt=1/result.json"), b"{}")
    with pytest.raises(Alarm, match="result-differs"):
        measured_result(DeliveryTurn(stage.env.dependencies, stage.env.dependencies.workloads.get(upload.workload)))


def test_a_large_landing_bucket_is_listed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a bound: what lies beyond it is what sweep looks after."""
    stage = world_of()
    for number in range(2 * PAGE):
        stage.env.memory.objects.put(Address(LANDING, f"{number:04}"), b"x")
    stage.env.memory.clock.sleep(60)
    stage.env.memory.objects.put(Address(LANDING, "z"), b"x")
    whole = recent(stage.env.dependencies, 1)
    monkeypatch.setattr(find_deliveries, "PAGES", 1)

    assert [each.key for each in whole] == ["z"]
    assert "z" not in {each.key for each in recent(stage.env.dependencies, 1_000)}


def test_an_unknown_key_is_not_found_beside_a_row_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of that row names the item; a key without an upload is reported as without it."""
    stage = world_of()
    stage.env.upload(f"{PREFIX}day.csv", b"good:1")
    refused = UnreadableItem("workload#day", "it is not JSON")
    monkeypatch.setattr(Workloads, "claimed", Mock(side_effect=refused))

    with pytest.raises(UnreadableItem):
        find_delivery(stage.env.dependencies, f"{PREFIX}day.csv", 5)
    with pytest.raises(InputError, match="none of the latest 5 deliveries is called so"):
        find_delivery(stage.env.dependencies, "unknown.csv", 5)


def test_nothing_landed_is_an_empty_list() -> None:
    """A new stack has no deliveries, and its chains no blocks."""
    stage = world_of()

    assert recent(stage.env.dependencies, 20) == ()
    assert dataset_names.chains(stage.env.dependencies)[:2] == (LINE, "_unrouted/2026-01-05")


def test_a_failed_delivery_is_found_after_its_landed_version_was_deleted() -> None:
    """By its staged copy, by its key and by the beginning of its id; owners, who may not list it, see the others."""
    stage = world_of(*[Ending.FAILED] * 3)
    upload = stage.env.upload(f"{PREFIX}bad.csv", b"good:1")
    settle(stage)
    stage.env.delete(upload)
    found = keys(stage)
    others = replace(stage.env.dependencies, objects=_Restricted(stage.env.memory.objects))  # type: ignore[arg-type] # one of its methods

    assert found == [(f"{PREFIX}bad.csv", State.FAILED)]
    assert find_delivery(stage.env.dependencies, f"{PREFIX}bad.csv", 20).id == upload.workload
    assert find_delivery(stage.env.dependencies, upload.workload[:12], 20).id == upload.workload
    assert recent(others, 20) == ()


def test_staged_copies_are_listed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a bound, as the landing bucket: one that is behind a page of others is found, beyond the bound it is not."""
    stage = world_of(*[Ending.FAILED] * 3)
    upload = stage.env.upload(f"{PREFIX}bad.csv", b"good:1")
    settle(stage)
    stage.env.delete(upload)
    for number in range(2 * PAGE):
        stage.env.memory.objects.put(Address(LAKE, f"staging/{number:064}/part-00000"), b"x")
    whole = keys(stage)
    monkeypatch.setattr(find_deliveries, "PAGES", 1)

    assert whole == [(f"{PREFIX}bad.csv", State.FAILED)]
    assert keys(stage) == []


def test_a_page_of_the_api_reads_few_rows_however_much_is_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies of other owners' deliveries, too: a request has seconds, and a burst has thousands of them."""
    stage = world_of()
    for number in range(2_000):
        stage.env.memory.objects.put(Address(LAKE, f"staging/{number:064}/part-00000"), b"x")
    read = Mock(wraps=find_deliveries.readable_row)
    monkeypatch.setattr(find_deliveries, "readable_row", read)
    find_deliveries.page_of(stage.env.dependencies, {LINE}, [ROUTE], find_deliveries.ListPosition(), 50)

    assert 0 < read.call_count <= find_deliveries.SEARCHED_OPEN


class _Restricted:
    """The landing bucket alone can be listed."""

    def __init__(self, objects: MemoryObjects) -> None:
        self._objects = objects

    def versions(self, bucket: str, *more: Any) -> VersionPage:
        if bucket != LANDING:
            raise AccessDenied
        return self._objects.versions(bucket, *more)


def test_records_do_not_count_as_deliveries() -> None:
    """After many replays the latest deliveries of the dataset are listed as before."""
    stage = world_of()
    for number in range(3):
        finished(stage, f"{PREFIX}{number}.csv", f"good:{number}".encode())
    content = {"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"}
    for number in range(9):
        steps = append(stage.env.dependencies, "replay", "orders/lines_v1", content, f"{number}" * 64)
        drive(stage.env.dependencies, steps)

    assert [key for key, _ in keys(stage, 2)] == [f"{PREFIX}2.csv", f"{PREFIX}1.csv"]

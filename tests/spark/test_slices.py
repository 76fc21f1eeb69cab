"""The job and the judge function write the slices that the native engine writes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.engine import accepted_rows
from lakegate.engine.read import csv
from lakegate.engine.read.data_source import LocalStore, path_of
from lakegate.features.odf.recompute_slices import logical_hashes
from lakegate.features.odf.slices.slice_writer import Begin
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.plan.slice_order import MergeOrder, PublishedSlice, SliceOrder, SnapshotOrder, StateRun, WrittenSlice
from tests.deliveries.delivery import measure_by_function, measure_natively, plan_of, request_for, rule
from tests.deliveries.sliced import NOW, slices

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
CONTENT = b"id,at\n" + b"".join(b"%d,2020-01-02T03:04:%02dZ\n" % (each, each % 60) for each in range(3000))


def contents(found: tuple[WrittenSlice, ...]) -> list[dict[str, object]]:
    """All but where the slices are."""
    return [asdict(replace(each, uri="")) for each in found]


def test_every_engine_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several slices of several shares each; the hashes of rows and of bytes are equal."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    monkeypatch.setattr(csv, "SHARE_BYTES", 10_000)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", 3)
    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("required", "id"))
    native = contents(slices(plan, tmp_path / "native", CONTENT))

    assert len(native) > 2
    assert contents(slices(plan, tmp_path / "function", CONTENT, engine=measure_by_function)) == native
    assert contents(slices(plan, tmp_path / "spark", CONTENT, engine=validate)) == native


def test_rejected_rows_are_in_no_slice_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the shares of accepted and rejected rows as they arrived, from which the slices are built again.

    Without rows there is no slice.
    """
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("minimum", "id", value=10))
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS, allow_empty=True))
    monkeypatch.setattr(csv, "SHARE_BYTES", 10_000)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", 3)
    native = contents(slices(plan, tmp_path / "native", CONTENT))
    results: list[Result] = []

    def judged(request: Request, plan: Plan) -> Result:
        results.append(validate(request, plan))
        return results[-1]

    job = slices(plan, tmp_path / "spark", CONTENT, engine=judged)
    shares = results[0].shares
    assert shares is not None
    accepted = tuple(StagedPart(each.uri, each.size) for each in shares.accepted)
    begin, counts = Begin(job[0].offset, NOW, None), [each.rows for each in job]

    assert len(accepted) > 1
    assert len(native) > 2
    assert sum(counts) == 2990
    assert contents(job) == native
    assert logical_hashes(plan, accepted, LocalStore(), begin, counts, tmp_path) == tuple(each.logical for each in job)
    assert slices(plan, tmp_path / "empty", b"id,at\n", engine=validate) == ()


def test_every_engine_merges_the_same_rows(tmp_path: Path) -> None:
    """The second delivery repeats keys of the first: slices and state are the same bytes."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("minimum", "id", value=10))
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS))
    more = b"id,at\n5,\n11,\n12,2020-01-02T03:04:12Z\n4000,\n4000,\n"
    answers = []
    for engine in (measure_natively, validate):
        runs: tuple[StateRun, ...] = ()
        offset, found = 7, []
        for number, body in enumerate((CONTENT, more)):
            folder = tmp_path / f"{engine.__module__}{number}"
            folder.mkdir()
            order = SliceOrder(offset, merge=MergeOrder("shop/visits_v1", ("id",), runs))
            result = engine(replace(request_for(plan, folder, body), slices=order), plan)
            merge = result.merge
            assert merge is not None
            assert merge.run is not None
            runs = (*merge.kept, StateRun(merge.run.uri, merge.run.rows, merge.run.digest))
            offset += sum(each.rows for each in result.slices)
            state = path_of(merge.run.uri).read_bytes()
            found.append((contents(result.slices), merge.known, merge.changed, merge.vanished, len(merge.kept), state))
        answers.append(found)

    assert answers[0] == answers[1]
    assert [each[1:5] for each in answers[0]] == [(0, 0, 0, 0), (2, 1, 2988, 1)]


@pytest.mark.parametrize(("keeps", "events"), [(False, 1 + 18 + 2), (True, 1 + 2)], ids=["snapshots", "upserts"])
def test_every_engine_finds_the_same_events(tmp_path: Path, keeps: bool, events: int) -> None:  # noqa: FBT001 - a parameter
    """The second delivery takes rows of the first back, an upsert corrected ones alone: slices and state are the same bytes."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("required", "id"))
    time, more = "2020-01-02T03:04:05.000000Z", b"id,at\n4000,\n11,\n" + b"\n".join(CONTENT.splitlines()[20:]) + b"\n"
    answers = []
    for engine in (measure_natively, validate):
        runs: tuple[StateRun, ...] = ()
        published: tuple[PublishedSlice, ...] = ()
        found = []
        for number, body in enumerate((CONTENT, more)):
            folder = tmp_path / f"{engine.__module__}-snapshot{number}"
            folder.mkdir()
            merge = MergeOrder("shop/visits_v1", ("id",), runs, SnapshotOrder(time, published, keeps))
            order = SliceOrder(sum(each.rows for each in published), merge=merge, system_time=time)
            result = engine(replace(request_for(plan, folder, body), slices=order), plan)
            assert result.merge is not None
            assert result.merge.run is not None
            run, snapshot = result.merge.run, result.merge.snapshot
            runs = (StateRun(run.uri, run.rows, run.digest, time),)
            published += tuple(PublishedSlice(each.uri, each.offset, each.rows) for each in result.slices)
            state = path_of(run.uri).read_bytes()
            found.append((contents(result.slices), result.merge.known, snapshot and snapshot.events, state))
        answers.append(found)

    assert answers[0] == answers[1]
    assert [each[1:3] for each in answers[0]] == [(0, 3000), (2981, events)]

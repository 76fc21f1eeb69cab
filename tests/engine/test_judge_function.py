"""The judge function: the native engine behind the request and the result of the job, within its bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest

from functions import judge_handler
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.engine.attempt import Attempt
from lakegate.engine.measure import duckdb_tables
from lakegate.features.odf.slices.merge_state import PLACED
from lakegate.job import job_storage, judge_function
from lakegate.job.job_storage import ANYWHERE, Buckets, versions_of
from lakegate.job.judge_function import JudgeError
from lakegate.plan.request import AcceptedPart, Reference, Request, StagedPart
from lakegate.plan.result import Result
from lakegate.plan.slice_order import MergeOrder, SliceOrder, SnapshotOrder, StateRun
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import (
    Remaining,
    measure_by_function,
    measure_natively,
    plan_of,
    request_for,
    rule,
)

CANARY = "Erika.Mustermann@example.com"
FIELDS = {"id": "integer", "name": "string"}
PLAN = plan_of(FIELDS, rule("required", "name"), rule("unique", "id"))
DATA = b"id,name\n1,a\n2,\n2,c\nx,d\n"


def essence(result: Result) -> Result:
    """A result but for what it cost."""
    return replace(result, timings={}, vcpu_seconds=None)


def stored(request: Request) -> bytes:
    """The bytes of the result."""
    return (Path(urlsplit(request.output_uri).path) / "result.json").read_bytes()


def event_of(request: Request, folder: Path) -> dict[str, object]:
    """The event of an invocation whose documents are there."""
    return {
        "workload": request.workload,
        "attempt": request.attempt,
        "request": (folder / "request.json").as_uri(),
    }


def test_the_result_is_that_of_the_native_engine(tmp_path: Path) -> None:
    """The same request gives the same document, cost aside."""
    request = request_for(PLAN, tmp_path, DATA)

    assert essence(measure_by_function(request, PLAN)) == essence(measure_natively(request, PLAN))


def test_a_second_invocation_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt has one result, written by whichever invocation came first, also where both run at once."""
    request = request_for(PLAN, tmp_path, DATA)
    measure_by_function(request, PLAN)
    first, event = stored(request), event_of(request, tmp_path)
    later = judge_handler.handler(event, Remaining(120))
    monkeypatch.setattr(judge_function, "has_result", lambda _: False)
    at_once = judge_handler.handler(event, Remaining(120))

    assert [later["answer"], at_once["answer"]] == ["before", "before"]
    assert stored(request) == first


def test_records_that_have_to_be_split_do_not_fit(tmp_path: Path) -> None:
    """Only Spark writes accepted and rejected rows; a delivery without rejected ones is measured here."""
    plan = plan_of(FIELDS, rule("required", "name"), policy=Policy(on_reject=OnReject.ROWS))
    results = []
    for name, data in (("bad", DATA), ("good", b"id,name\n1,a\n")):
        (tmp_path / name).mkdir()
        results.append(measure_by_function(request_for(plan, tmp_path / name, data), plan))

    assert [(each.does_not_fit, each.rows) for each in results] == [("rows", 0), (None, 1)]


def test_what_would_take_too_long_does_not_fit(tmp_path: Path) -> None:
    """With less time left than an answer takes, the answer is that."""
    request = request_for(PLAN, tmp_path, DATA)

    assert measure_by_function(request, PLAN, seconds=5).does_not_fit == "time"


def test_large_references_do_not_fit(tmp_path: Path) -> None:
    """Accepted data that is larger than the bound is not read."""
    part = AcceptedPart("file:///nowhere", judge_function.MAX_REFERRED + 1, "file:///nowhere", PLAN.digest)
    request = replace(request_for(PLAN, tmp_path, DATA), references=(Reference("a/b_v1", 0, (part,)),))

    assert measure_by_function(request, PLAN).does_not_fit == "references"


@pytest.mark.parametrize(("rows", "snapshot", "wanted"), [(0, 1, "references"), (-1, 1, None), (0, None, None)])
def test_a_small_snapshot_of_a_large_line_does_not_fit(
    tmp_path: Path, rows: int, snapshot: int | None, wanted: str | None
) -> None:
    """It takes nearly every row back, and the whole state is in memory; of a ledger a few parts of the state are read."""
    state = StateRun(
        "file:///nowhere",
        rows + judge_function.MAX_REFERRED // PLACED.itemsize + 1,
        "d" * 64,
        as_of="2026-11-01T00:00:00.000000Z",
    )
    merge = MergeOrder("a/b_v1", ("id",), (state,), SnapshotOrder("2026-11-02T00:00:00.000000Z") if snapshot else None)
    request = replace(request_for(PLAN, tmp_path, DATA), slices=SliceOrder(0, merge=merge))

    assert measure_by_function(request, PLAN).does_not_fit == wanted


def test_a_part_that_names_a_version_is_read_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies at its key now; a part without one is read as it is."""
    asked: list[object] = []

    class Client:
        def get_object(self, **call: object) -> dict[str, object]:
            asked.append(call)
            return {"Body": BytesIO(DATA)}

    monkeypatch.setattr(job_storage, "_buckets", lambda: Buckets(Client()))  # type: ignore[arg-type]  # one method of it
    plain = request_for(PLAN, tmp_path, DATA)
    part = StagedPart("s3://landing/a/day.csv", len(DATA), version="v1")
    result = judge_function.measure(
        replace(plain, parts=(part,)), PLAN, store=versions_of(replace(plain, parts=(part,)))
    )

    assert versions_of(plain) == ANYWHERE
    assert {(each["Bucket"], each["Key"], each.get("VersionId")) for each in asked} == {("landing", "a/day.csv", "v1")}
    assert result.rows == 4


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), "memory"),
        (duckdb.OutOfMemoryException(CANARY), "memory"),
        (duckdb.IOException(CANARY), "disk"),
    ],
    ids=["Arrow", "DuckDB", "spilling"],
)
def test_what_needs_more_than_there_is_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    """Memory and disk that do not suffice are an answer, and not a failure."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Attempt, "result", fail)

    assert measure_by_function(request_for(PLAN, tmp_path, DATA), PLAN).does_not_fit == why


def test_a_database_without_memory_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB itself refuses what exceeds its limit where nothing can be spilled."""
    small = duckdb_tables.database

    def tiny(_: Path) -> duckdb.DuckDBPyConnection:
        return small(tmp_path / "absent" / "folder", "1MB")

    monkeypatch.setattr(judge_function, "database", tiny)
    rows = b"".join(b"%d,%064d\n" % (number, number) for number in range(200_000))

    assert measure_by_function(request_for(PLAN, tmp_path, b"id,name\n" + rows), PLAN).does_not_fit in {
        "memory",
        "disk",
    }


def test_an_answer_that_nothing_fits_has_no_verdict(tmp_path: Path) -> None:
    """Anyone who judged it would find it undecided: a delivery is never accepted by it."""
    request = request_for(PLAN, tmp_path, DATA)

    assert judge(PLAN, measure_by_function(request, PLAN, seconds=5)).verdict is Verdict.UNDECIDED


def test_what_fails_leaves_by_its_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """P15: neither the log nor what Lambda forwards repeats the message of an error."""

    def fail(*_: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(Attempt, "result", fail)
    request = request_for(PLAN, tmp_path, DATA)
    with pytest.raises(JudgeError) as raised:
        measure_by_function(request, PLAN)

    assert (str(raised.value), raised.value.__cause__, raised.value.__suppress_context__) == ("ValueError", None, True)
    assert [json.loads(each.message) for each in caplog.records] == [
        {"workload": request.workload, "attempt": 1, "error": "ValueError"}
    ]
    assert CANARY not in caplog.text


def test_another_plan_than_the_requested_one_is_refused(tmp_path: Path) -> None:
    """The plan's bytes must have the digest that the request names."""
    request = replace(request_for(PLAN, tmp_path, DATA), plan_digest="0" * 64)

    with pytest.raises(JudgeError, match="InputError"):
        measure_by_function(request, PLAN)


def test_in_lambda_a_result_has_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Duration times memory, by the price table of the stack; outside of Lambda there is none."""
    request = request_for(PLAN, tmp_path, DATA)
    (tmp_path / "again").mkdir()
    outside = measure_by_function(request, PLAN).cost
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1769")
    monkeypatch.setenv("LAKEGATE_PRICES", "2027-01-01 EUR 1 1 1 0")
    cost = measure_by_function(request_for(PLAN, tmp_path / "again", DATA), PLAN).cost

    assert outside is None
    assert cost is not None
    assert (cost.currency, cost.dated, cost.money) == ("EUR", "2027-01-01", pytest.approx(cost.gb_seconds, abs=0.001))
    assert cost.gb_seconds == pytest.approx(cost.vcpu_seconds * 1769 / 1024, abs=0.002)

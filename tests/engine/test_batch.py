"""The run of a batch: each delivery is judged by itself, whatever the others do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.job import judge_function
from lakegate.job.judge_function import DoesNotFitError, evaluate_batch
from lakegate.plan.plan import Plan
from lakegate.plan.request import BatchRequest, Request
from lakegate.plan.result import Result
from tests.deliveries.delivery import measure_natively, plan_of, request_for

PLAN = plan_of({"id": "integer"})
SECRET = "4111 1111 1111 1111"


def never(_request: Request, _plan: Plan) -> Result:
    raise AssertionError("Spark is asked for nothing that fits")


def staged(folder: Path, *contents: bytes) -> list[Request]:
    """Requests of deliveries in folders of their own, and `batch.json` beside them."""
    (folder / "plan.json").write_bytes(PLAN.to_bytes())
    requests = []
    for number, content in enumerate(contents):
        place = folder / str(number)
        place.mkdir()
        request = replace(request_for(PLAN, place, content), plan_uri=(folder / "plan.json").as_uri())
        (place / "request.json").write_bytes(request.to_bytes())
        requests.append(request)
    uris = tuple((folder / str(number) / "request.json").as_uri() for number in range(len(contents)))
    (folder / "batch.json").write_bytes(BatchRequest("b" * 64, uris).to_bytes())
    return requests


def results(folder: Path, number: int) -> list[Result | None]:
    """The result of each delivery; None where there is none."""
    paths = [folder / str(each) / "out/result.json" for each in range(number)]
    return [Result.from_bytes(path.read_bytes()) if path.exists() else None for path in paths]


def test_each_delivery_has_the_result_that_it_has_alone(tmp_path: Path) -> None:
    """Good, bad and unreadable ones; nothing of one is in the result of another."""
    requests = staged(tmp_path, b"id\n1\n", b"id\nx\n", b"\0\0\0")
    unanswered = evaluate_batch((tmp_path / "batch.json").as_uri(), never)
    found = results(tmp_path, 3)
    alone = [measure_natively(each, PLAN) for each in requests]

    assert unanswered == 0
    assert [each and replace(each, timings={}, vcpu_seconds=None) for each in found] == [
        replace(each, timings={}, vcpu_seconds=None) for each in alone
    ]


def test_a_delivery_that_cannot_be_judged_leaves_the_others_their_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other bytes than pinned, and a defect of the engine: both have no result, and the log has no value of the data."""
    requests = staged(tmp_path, b"id\n1\n", b"id\n2\n", b"id\n3\n")
    (tmp_path / "0/staging/part-00000").write_bytes(b"id\n1\n9\n")
    measure = judge_function.measure

    def defective(request: Request, plan: Plan) -> Result:
        if request.parts == requests[1].parts:
            raise ZeroDivisionError(SECRET)
        return measure(request, plan)

    monkeypatch.setattr(judge_function, "measure", defective)
    unanswered = evaluate_batch((tmp_path / "batch.json").as_uri(), never)
    log = capsys.readouterr().err

    assert unanswered == 2
    assert [each is not None for each in results(tmp_path, 3)] == [False, False, True]
    assert "ZeroDivisionError" in log
    assert SECRET not in log


def test_what_does_not_fit_is_measured_by_spark_in_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what has to be split by rows."""

    def unfit(_request: Request, _plan: Plan) -> Result:
        raise DoesNotFitError("rows")

    staged(tmp_path, b"id\n1\n")
    monkeypatch.setattr(judge_function, "measure", unfit)
    unanswered = evaluate_batch(
        (tmp_path / "batch.json").as_uri(), lambda request, plan: replace(measure_natively(request, plan), rows=7)
    )
    (found,) = results(tmp_path, 1)

    assert unanswered == 0
    assert found is not None
    assert found.rows == 7


def test_a_run_that_is_repeated_judges_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is there stays as it is."""
    staged(tmp_path, b"id\n1\n", b"id\n2\n")
    evaluate_batch((tmp_path / "batch.json").as_uri(), never)
    before = results(tmp_path, 2)
    monkeypatch.setattr(judge_function, "measure", never)

    assert evaluate_batch((tmp_path / "batch.json").as_uri(), never) == 0
    assert results(tmp_path, 2) == before


NO_MEMBERS = json.dumps({"version": "lakegate/batch/1", "batch": "b" * 64, "requests": []}).encode()


@pytest.mark.parametrize("document", [b"", b"[]", b'{"batch": "b"}', NO_MEMBERS])
def test_a_document_that_is_no_batch_is_refused(tmp_path: Path, document: bytes) -> None:
    """Nothing is judged by it."""
    (tmp_path / "batch.json").write_bytes(document)
    with pytest.raises(InputError):
        evaluate_batch((tmp_path / "batch.json").as_uri(), never)

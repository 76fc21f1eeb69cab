"""The job writes the typed files that the native engine writes, and both the rows that the reference reads."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.engine import accepted_rows
from lakegate.engine.read import csv
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.typed import both_files, bytes_of, plan_in, rows_of, stored_values, typed_files
from tests.reference.sampling import sampled
from tests.reference.typed_rows import Delivered, as_csv, as_json_lines, of_csv, of_json, values_of_csv, values_of_json

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
CONTENT = b"id,at\n" + b"".join(b"%d,2020-01-02T03:04:%02dZ\n" % (each, each % 60) for each in range(3000))


def test_every_engine_writes_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files of several shares each, in tasks of their own; rejected rows are in others; without rows there is none."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    monkeypatch.setattr(csv, "SHARE_BYTES", 10_000)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", 3)
    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("minimum", "id", value=10))
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS, allow_empty=True))
    content = CONTENT + b"x,2020\n1,2,3\n"
    native, rejected = both_files(plan, tmp_path / "native", content)
    job, rejected_by_job = both_files(plan, tmp_path / "spark", content, engine=validate)

    assert len(native) > 2
    assert bytes_of(job) == bytes_of(native)
    assert rows_of(job).column("id").to_pylist() == list(range(10, 3000))
    assert bytes_of(rejected_by_job) == bytes_of(rejected)
    assert rows_of(rejected_by_job).column("row").to_pylist() == [*range(2, 12), 3002, 3003]
    assert typed_files(plan, tmp_path / "empty", b"id,at\n", engine=validate) == ()


@sampled(4, 100)
@given(of_csv())
def test_rejected_rows_are_the_same_by_every_engine(found: Delivered) -> None:
    """Of the job beside what it writes as it arrived: as many records, in the same order, with the same rules."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_in(found.contract("csv"))
    plan = replace(plan, policy=replace(plan.policy, on_reject=OnReject.ROWS, mode=Mode.ENFORCE))
    with tempfile.TemporaryDirectory() as folder:
        _, native = both_files(plan, Path(folder) / "a", as_csv(found))
        _, job = both_files(plan, Path(folder) / "b", as_csv(found), engine=validate)

        assert bytes_of(job) == bytes_of(native)


@sampled(4, 100)
@given(of_csv())
def test_rows_of_text_are_typed_by_the_grammar(found: Delivered) -> None:
    """Every type, good texts and others."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_in(found.contract("csv"))
    with tempfile.TemporaryDirectory() as folder:
        files = typed_files(plan, Path(folder) / "a", as_csv(found), engine=validate)

        assert stored_values(rows_of(files)) == values_of_csv(found)
        assert bytes_of(files) == bytes_of(typed_files(plan, Path(folder) / "b", as_csv(found)))


@sampled(6, 100)
@given(of_json())
def test_nested_values_are_put_together_again(found: Delivered) -> None:
    """Records, lists and maps in one another."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_in(found.contract("jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        files = typed_files(plan, Path(folder) / "a", as_json_lines(found), engine=validate)

        assert stored_values(rows_of(files)) == values_of_json(found)
        assert bytes_of(files) == bytes_of(typed_files(plan, Path(folder) / "b", as_json_lines(found)))

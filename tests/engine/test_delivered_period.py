"""The period of a delivery (`replaces: period`): one value in all accepted rows, else the delivery is rejected as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.json_codec import canonical
from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read import csv
from lakegate.plan.result import Result
from tests.deliveries.delivery import Judged, plan_of
from tests.deliveries.periods import BY_ROWS, PERIODS, PeriodCase, of_day, plan, several
from tests.reference.sampling import sampled


def essence(judged: Judged) -> tuple[object, str, list[str]]:
    """Period, verdict, and the reasons about the period."""
    about = [each.message for each in judged.judgement.outcomes if each.id == "file/period"]
    return judged.result.period, judged.verdict.value, about


@pytest.mark.parametrize("case", PERIODS.values(), ids=PERIODS)
def test_a_delivery_has_the_period_of_its_accepted_rows(case: PeriodCase, judge_files: Callable[..., Judged]) -> None:
    """Each case of the table."""
    found = judge_files(case.plan, *case.objects)

    assert essence(found) == (case.period, case.verdict, [case.reason] if case.reason else [])


@sampled(20, 500)
@given(
    days=st.lists(
        st.tuples(st.sampled_from([1, 99]), st.sampled_from(["1", "01", "2", "3", ""])), min_size=1, max_size=30
    ),
    share=st.integers(5, 60),
)
def test_the_period_is_that_of_the_rows_that_are_left(
    judge_files: Callable[..., Judged], days: list[tuple[int, str]], share: int
) -> None:
    """Compared with a reading of the rows, however the file is cut into shares."""
    accepted = {int(day) if day else None for number, day in days if number == 1}
    values = accepted - {None}
    wanted = None
    if accepted:
        wanted = (
            of_day(f"{next(iter(values))}")
            if len(values) == len(accepted) == 1
            else several(len(values), has_rows_without=None in accepted)
        )
    content = "n,day\n" + "".join(f"{number},{day}\n" for number, day in days)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv, "SHARE_BYTES", share)
        found = judge_files(plan("integer", BY_ROWS), content.encode())

    assert found.result.period == wanted


def test_a_file_with_types_has_the_same_periods(judge_files: Callable[..., Judged]) -> None:
    """A day of Parquet is that of CSV: what is delivered in another format takes its place."""
    table = pa.table({"n": pa.array([1], pa.int64()), "day": pa.array([20_785], pa.date32())})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    found = judge_files(replace(plan(), storage=Storage(Format.PARQUET)), sink.getvalue().to_pybytes())

    assert found.result.period == of_day("2026-11-28")


@pytest.mark.parametrize("text", [b"n\n1\n", b"n,Day\n1,2026-11-28\n"])
def test_a_file_without_the_column_has_no_period(text: bytes, judge_files: Callable[..., Judged]) -> None:
    """Whatever the contract says of absent columns."""
    found = judge_files(plan(), text)

    assert (found.result.period, found.verdict.value) == (several(0, has_rows_without=True), "rejected")


def test_a_result_holds_no_value_and_is_as_before_without_a_period(judge_files: Callable[..., Judged]) -> None:
    """Only a digest of the value reaches result.json; results of other contracts keep their bytes."""
    found = judge_files(plan("string"), b"n,day\n1,canary\n").result
    other = judge_files(plan_of({"n": "integer"}, policy=Policy()), b"n\n1\n").result

    assert b"canary" not in canonical(found)
    assert b"period" not in canonical(other)
    assert Result.from_bytes(canonical(found)).period == of_day("canary")

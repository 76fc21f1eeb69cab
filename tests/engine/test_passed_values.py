"""What chunks are told apart by changes no result: values that have passed once, plans of queries that are used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.file_formats import Csv, Storage
from lakegate.engine.measure import chunk_queries, passed_values, share_evaluation
from lakegate.engine.read import avro, csv, data_source, json, parquet_orc
from tests.agreement.cases import case_of
from tests.agreement.engines import different, native
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import STORAGES, written
from tests.engine.test_sameness import document
from tests.reference.sampling import sampled


@contextmanager
def all_at_once() -> Iterator[None]:
    """No values of good records are noted: while they are, everything is evaluated."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(share_evaluation, "PASSING_SHARES", 0)
        yield


@contextmanager
def in_chunks(rows: int, most: int, planned: int) -> Iterator[None]:
    """Chunks of some rows, with so many values and plans that are known."""
    with all_at_once(), pytest.MonkeyPatch.context() as patched:
        for module, name in ((parquet_orc, "MAX_ROWS"), (avro, "BATCH_ROWS")):
            patched.setattr(module, name, rows)
        for text in (csv, json):
            patched.setattr(text, "SHARE_BYTES", 40 * rows)
        patched.setattr(data_source, "LOOKED_AT", 1)
        patched.setattr(data_source, "MAX_DISTINCT", 1)
        patched.setattr(passed_values, "MOST_VALUES", most)
        patched.setattr(chunk_queries, "MOST_PLANNED", planned)
        yield


ROWS = st.integers(1, 6)
MOST = st.sampled_from([0, 2, passed_values.MOST_VALUES])
PLANNED = st.sampled_from([1, chunk_queries.MOST_PLANNED])


@sampled(25, 20_000)
@given(seed=st.integers(0, 10**9), rows=ROWS, most=MOST, planned=PLANNED)
def test_in_chunks_of_a_few_rows_a_delivery_has_the_same_result(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rows: int, most: int, planned: int
) -> None:
    """Any contract and delivery, in any format: in chunks of some rows, whose values have passed before or not, as in one."""
    case, folder = case_of(seed), tmp_path_factory.mktemp("delivery")
    whole, cut = folder / "whole", folder / "cut"
    whole.mkdir()
    cut.mkdir()
    with all_at_once():
        once = native(case, whole)
    with in_chunks(rows, most, planned):
        again = native(case, cut)

    assert [*different("", once, again)] == []


CALENDAR = {pa.date32(): (-719_162, 2_932_896), pa.timestamp("us"): (-62_135_596_800_000_000, 253_402_300_799_999_999)}
"""Days and moments from the year 1 to 9999, as the numbers that they are stored as."""
VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "number": (pa.float64(), (0.0, -0.0, 1.0, 4.5, 9.0, 10.5, -3.0, float("nan"), float("inf"), float("-inf"), 1e300)),
    "integer": (pa.int64(), (0, 1, 5, 9, 11, -3, 2**63 - 1, -(2**63))),
    "date": (pa.date32(), (-800_000, -719_162, 10_957, 11_000, 12_000, 2_900_000, 3_000_000)),
    "timestamp": (
        pa.timestamp("us"),
        tuple(year * 31_556_952_000_000 for year in (-2000, -1900, 30, 31, 40, 8000, 9000)),
    ),
    "string": (pa.string(), ("a", "b", "abc", "é", "5", "NULL", " ")),
}
RULES = [
    *(rule("minimum", name, value=0) for name in ("number", "integer")),
    *(rule("maximum", name, value=10) for name in ("number", "integer")),
    *(rule("minimum", name, value="2000-02-01") for name in ("date", "timestamp")),
    *(rule("maximum", name, value="2005-01-01") for name in ("date", "timestamp")),
    *(rule("required", name) for name in VALUES),
    *(rule("invalidValues", name, pattern="^[12a-e]") for name in VALUES),
    *(rule("maxLength", name, value=4) for name in VALUES),
    rule("enum", "string", values=("a", "b")),
    rule("enum", "integer", values=("0", "1", "5")),
    rule("enum", "number", values=("1", "4.5")),
    rule("enum", "date", values=("1999-02-03", "2000-02-03")),
    rule("multipleOf", "integer", value=5),
    rule("unique", "string"),
    rule("mean", "number", parameter=Decimal(1)),
]


def stored(values: list[Any], kind: pa.DataType) -> pa.Array:
    """A column of these values; days and moments are given as numbers."""
    number = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}.get(kind)
    return pa.array(values, number).cast(kind) if number else pa.array(values, kind)


BINARY = {".parquet", ".orc"}
"""Formats that tests can write days beyond the calendar in."""
FEW = [each for each in STORAGES if each.suffix in {".csv", ".jsonl", ".parquet", ".orc", ".avro"}]


@sampled(30, 20_000)
@given(data=st.data(), storage=st.sampled_from(FEW), chunks=st.tuples(ROWS, MOST, PLANNED))
def test_values_at_the_ends_of_their_types_are_not_passed_over(
    judge_files: Callable[..., Judged], data: st.DataObject, storage: Storage, chunks: tuple[int, int, int]
) -> None:
    """Not a number, infinities, the last days, nulls: where a chunk has one between values that have passed, it is evaluated."""
    drawn = {}
    for name, (kind, values) in VALUES.items():
        low, high = CALENDAR.get(kind, (None, None)) if storage.suffix not in BINARY else (None, None)
        own = [each for each in values if low is None or low <= each <= high]
        drawn[name] = stored(data.draw(st.lists(st.none() | st.sampled_from(own), min_size=12, max_size=12)), kind)
    plan = plan_of(
        {name: name for name in VALUES}, *RULES, csv=Csv(null_values=data.draw(st.sampled_from([(), ("NULL",)])))
    )
    plan, content = replace(plan, storage=storage), written(pa.table(drawn), storage)
    with all_at_once():
        once = judge_files(plan, content)
    with in_chunks(*chunks):
        again = judge_files(plan, content)

    assert [*different("", document(once.result), document(again.result))] == []


@pytest.mark.parametrize("kind", ["date", "timestamp", "integer", "number"])
def test_quoted_empty_texts_are_no_values_of_their_type(judge_files: Callable[..., Judged], kind: str) -> None:
    """A column of nothing but quoted empty texts: each fails the type check."""
    judged = judge_files(plan_of({"id": "integer", "a": kind}), b'id,a\n1,""\n2,""\n')

    assert [each.accept and each.accept.failing for each in judged.result.measurements] == [0, 2]

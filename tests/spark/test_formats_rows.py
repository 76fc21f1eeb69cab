"""Rows refused one by one, in every format that can be split: both shares are files of that format."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.plan.result import WrittenObject
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import written
from tests.engine.formats import KINDS, ROWS, nested_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
BY_ROWS = Policy(on_reject=OnReject.ROWS)
PLAN = plan_of({"id": "integer", "name": "string"}, rule("required", "name"), rule("unique", "id"), policy=BY_ROWS)
TABLE = pa.table({"id": [1, 2, 3, 3], "name": ["Ana", None, "Rui", "Eva"], "more": [[1], [], None, [2]]})
LINES = b'{"id": 1, "name": "Ana", "x": 1.10}\n{"id": 2}\n{"id": \n\n{"id":3,"name":"a"}\n{"id":3,"name":"\\"b"}\n'


def contents(found: tuple[WrittenObject, ...]) -> bytes:
    return b"".join(Path(urlsplit(each.uri).path).read_bytes() for each in found)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_lines_of_json_come_out_as_they_went_in(codec: Compression, judge_files: Callable[..., Judged]) -> None:
    """Rejected ones in an object with their reasons; a line that is no JSON as a text; packed as they were."""
    content = gzip.compress(LINES) if codec is Compression.GZIP else LINES
    judged = judge_files(replace(PLAN, storage=Storage(Format.JSONL, codec)), content)
    shares = judged.result.shares
    assert shares is not None
    good, bad = contents(shares.accepted), contents(shares.rejected)
    if codec is Compression.GZIP:
        good, bad = gzip.decompress(good), gzip.decompress(bad)

    assert (judged.verdict, judged.result.rows, judged.result.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 5, 4)
    assert good == b'{"id": 1, "name": "Ana", "x": 1.10}\n'
    assert [json.loads(line) for line in bad.splitlines()] == [
        {"_reasons": "required/name", "_record": {"id": 2}},
        {"_reasons": "file/records", "_record": '{"id": '},
        {"_reasons": "unique/id", "_record": {"id": 3, "name": "a"}},
        {"_reasons": "unique/id", "_record": {"id": 3, "name": '"b'}},
    ]


def rows_of(spark: SparkSession, form: Format, found: tuple[WrittenObject, ...]) -> list[dict[str, Any]]:
    read = [spark.read.format(form.value).load(each.uri) for each in found]
    return [row.asDict() for frame in read for row in frame.collect()]


@pytest.mark.parametrize("form", [Format.PARQUET, Format.ORC, Format.AVRO])
def test_tables_are_parted_with_all_their_columns(
    form: Format, judge_files: Callable[..., Judged], spark: SparkSession
) -> None:
    """Both shares are tables of the same format, undeclared columns included; reasons stand before the others."""
    judged = judge_files(replace(PLAN, storage=Storage(form)), written(TABLE, Storage(form)))
    shares = judged.result.shares
    assert shares is not None

    assert (judged.result.rows, judged.result.rejected_rows) == (4, 3)
    assert rows_of(spark, form, shares.accepted) == [{"id": 1, "name": "Ana", "more": [1]}]
    assert rows_of(spark, form, shares.rejected) == [
        {"_reasons": "required/name", "id": 2, "name": None, "more": []},
        {"_reasons": "unique/id", "id": 3, "name": "Rui", "more": None},
        {"_reasons": "unique/id", "id": 3, "name": "Eva", "more": [2]},
    ]


@pytest.mark.parametrize("form", [Format.JSONL, Format.PARQUET])
def test_a_row_with_a_bad_element_is_a_bad_row(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Though the check counts elements, rows are what is refused, each with every check it breaks."""
    plan = replace(nested_plan(Storage(form)), policy=BY_ROWS)
    judged = judge_files(plan, written(pa.Table.from_pylist(ROWS, KINDS), Storage(form)))

    assert (judged.verdict, judged.result.rows, judged.result.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 4, 3)
    assert judged.result.shares is not None


def test_a_table_that_cannot_be_written_anew_is_refused(judge_files: Callable[..., Judged]) -> None:
    """A type that Spark does not have would be lost."""
    table = TABLE.append_column("span", pa.array([1, 2, 3, 4], pa.duration("s")))
    judged = judge_files(replace(PLAN, storage=Storage(Format.PARQUET)), written(table, Storage(Format.PARQUET)))

    assert "the column span has a type that cannot be written to split files" in judged.reasons


@pytest.mark.parametrize("day", [dt.date(1582, 10, 5), dt.date(1582, 10, 14)])
def test_a_date_that_spark_cannot_write_to_orc_fails_the_attempt(
    day: dt.date, judge_files: Callable[..., Judged]
) -> None:
    """The calendar of Spark's ORC has no days between 1582-10-04 and 1582-10-15: no result is better than another date."""
    plan = replace(PLAN, storage=Storage(Format.ORC))
    table = TABLE.append_column("when", pa.array([day, None, None, None], pa.date32()))

    with pytest.raises(Py4JJavaError, match="cannot be written to ORC"):
        judge_files(plan, written(table, plan.storage))


@pytest.mark.parametrize("day", [dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1, 1, 1)])
def test_other_old_dates_are_written_to_orc_unchanged(
    day: dt.date, judge_files: Callable[..., Judged], spark: SparkSession
) -> None:
    """Dates before and after the change of the calendar, to readers that know the calendar of the file, as Spark does."""
    plan = replace(PLAN, storage=Storage(Format.ORC))
    table = TABLE.append_column("when", pa.array([day, None, None, None], pa.date32()))
    shares = judge_files(plan, written(table, plan.storage)).result.shares
    assert shares is not None
    accepted = spark.read.orc([each.uri for each in shares.accepted])

    assert [row["when"] for row in accepted.collect()] == [day]

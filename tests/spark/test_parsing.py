"""What is read is what stands in the file: against Python's own CSV reader, on random text."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.model import Csv
from tests.reference.sampling import sampled
from tests.spark.delivery import plan_of, request_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from contracts.plan import Plan

pytestmark = pytest.mark.spark
Read = list[tuple[str | None, list[str | None]]]

LINE = plan_of({"a": "string", "b": "integer", "c": "string"}, csv=Csv(header=False))
RECORD = plan_of({"a": "string", "b": "string", "c": "string"}, csv=Csv(header=False, multi_line=True))
pieces = st.lists(st.sampled_from([*'ab1,"\r é\ufffd', '"a"', '"",', ',""', '""""']), max_size=3).map("".join)
lines = st.tuples(pieces, pieces, pieces).map(",".join)
"""Lines near the borders of the grammar."""
cells = st.none() | st.tuples(
    st.lists(st.sampled_from(["a", "1", ",", '"', "\n", "\r\n", "\r", " ", "é", "😀", ""]), max_size=5).map("".join),
    st.booleans(),
)
"""Nothing at all, or a text and whether it is quoted without need."""


@pytest.fixture(scope="session")
def read(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Plan, bytes], Read]:
    """Flaw and texts of every record, as the job reads them."""

    def texts(plan: Plan, content: bytes) -> Read:
        from spark_jobs.read import open_delivery  # noqa: PLC0415 - Spark's settings must be made first

        opened = open_delivery(spark, plan, request_for(plan, tmp_path_factory.mktemp("read"), content))
        aliases = [field.alias for field in plan.fields]
        found = opened.frame.where("NOT no_record").orderBy("id").select("malformed", *aliases).collect()
        return [(row["malformed"], [row[alias] for alias in aliases]) for row in found]

    return texts


def spelt(cell: tuple[str, bool] | None) -> str:
    if cell is None:
        return ""
    text, quoted = cell
    needs_quotes = not text or any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted or needs_quotes else text


@sampled(4, 400)
@given(st.lists(lines, min_size=60, max_size=120))
def test_no_line_is_read_otherwise_than_python_reads_it(
    read: Callable[[Plan, bytes], Read], written: list[str]
) -> None:
    """A line is malformed, or its values are those that Python's strict reader finds: nothing is guessed."""
    found = read(LINE, "".join(f"{line}\n" for line in written).encode())

    assert len(written) == len(found)
    for line, (flaw, values) in zip(written, found, strict=True):
        if flaw is None:
            assert next(csv.reader([line.removesuffix("\r")], strict=True)) == [value or "" for value in values]


@sampled(4, 400)
@given(st.lists(st.tuples(cells, cells, cells), min_size=20, max_size=60))
def test_what_was_written_is_what_is_read(
    read: Callable[[Plan, bytes], Read], rows: list[tuple[tuple[str, bool] | None, ...]]
) -> None:
    """Quoted or not, with delimiters, quotes and line breaks inside: each value comes back, nothing at all as null."""
    content = "".join(",".join(map(spelt, row)) + "\r\n" for row in rows)

    found = read(RECORD, content.encode())

    assert [(None, [cell and cell[0] for cell in row]) for row in rows] == found
    assert list(csv.reader(io.StringIO(content, newline=""), strict=True)) == [
        [value or "" for value in values] for _, values in found
    ]

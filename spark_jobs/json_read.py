"""JSON: a text and a value for each declared field of each object, its parts and the elements of its lists included.

1. Lines are Spark's to read, the elements of an array come as a stream (`spark_jobs.lines`).
2. Workers judge each text by its tokens (`engine.read.json_rows`) and give columns of texts back.
3. A text that is a token of its field's own kind is a value if the type's grammar says so (docs/types.md), as in CSV.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.plan import Shape
from contracts.result import Columns
from engine.read.json_rows import MalformedError, Reading, levels, parsed
from spark_jobs.delivery import Delivery
from spark_jobs.lines import is_streamed, stream_of, streamed_lines, text_lines
from spark_jobs.typed import typed_value, value_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from contracts.plan import Plan, PlanField
    from contracts.request import Request
    from engine.read.json_rows import Cells, Value

_BASE = "part int, id long, bytes long, no_record boolean, malformed string, line string, extra array<string>"
_KEPT = ("part", "id", "bytes", "no_record", "malformed", "line", "extra")


def open_json(spark: SparkSession, plan: Plan, request: Request, _heads: list[bytes]) -> Delivery:
    """The delivery as a lazy frame."""
    frames = [
        streamed_lines(spark, stream_of(plan, part.uri), number)
        if is_streamed(plan)
        else text_lines(spark, plan, part.uri, number, unseen=0).withColumn("broken", F.lit(None).cast("string"))
        for number, part in enumerate(request.parts)
    ]
    size, value = F.col("bytes").cast("long"), F.col("value").cast("binary")
    texts = reduce(DataFrame.union, frames).select("part", "id", size, value, "broken")
    fields = plan.fields

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield judged(batch, fields)

    records = texts.mapInArrow(read, _schema(fields)).withColumn("plain", F.lit(False))
    sizes, addresses = tuple(part.size for part in request.parts), tuple(part.uri for part in request.parts)
    return Delivery(
        _with_values(records, [*_KEPT, "plain"], [each for each in fields if not each.level]),
        Columns(tuple(each.name for each in plan.columns)),
        header=None,
        sizes=sizes,
        slack=0 if is_streamed(plan) else 1,
        addresses=addresses,
        levels={level: _elements(records, fields, at) for at, level in enumerate(levels(fields))},
        has_extra=True,
    )


def _elements(records: DataFrame, fields: tuple[PlanField, ...], number: int) -> DataFrame:
    """The elements of one level; `id` is their own, `row` that of their record."""
    level = levels(fields)[number]
    exploded = records.select("part", F.col("id").alias("row"), F.explode(f"l{number}").alias("element"))
    numbered = exploded.select("part", "row", F.monotonically_increasing_id().alias("id"), "element.*")
    whole = numbered.withColumns(
        {
            "bytes": F.lit(0),
            "no_record": F.lit(False),
            "malformed": F.lit(None).cast("string"),
            "plain": F.lit(False),
        }
    )
    kept = ["part", "row", "at", "id", "bytes", "no_record", "malformed", "plain"]
    return _with_values(whole, kept, [each for each in fields if each.level == level])


def _with_values(frame: DataFrame, kept: list[str], fields: Iterable[PlanField]) -> DataFrame:
    values = [f"{_value(each)} AS {value_name(each.alias)}" for each in fields]
    return frame.selectExpr(*kept, *(each.alias for each in fields), *values)


def _value(field: PlanField) -> str:
    """The typed value, in SQL; null where the token is none of the field's own kind."""
    value = typed_value(field, field.alias) if field.shape is Shape.VALUE else field.alias
    return f"CASE WHEN {_own(field)} THEN {value} END"


def _own(field: PlanField) -> str:
    return f"k{field.alias}"


# --- in a worker


def judged(batch: pa.RecordBatch, fields: tuple[PlanField, ...]) -> pa.RecordBatch:
    """The records of a batch (`part`, `id`, `bytes`, `value`, `broken`) as columns of texts."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    reading = Reading(fields)
    no_record, malformed = [], []
    for text, broken in zip(batch.column("value").to_pylist(), batch.column("broken").to_pylist(), strict=True):
        value, reason = _judged_one(text)
        reading.add(value)
        malformed.append(broken or reason)
        no_record.append(value is None and malformed[-1] is None)
    columns = {
        "part": batch.column("part"),
        "id": batch.column("id"),
        "bytes": batch.column("bytes"),
        "no_record": pa.array(no_record, pa.bool_()),
        "malformed": pa.array(malformed, pa.string()),
        "line": _lines(batch.column("value"), malformed),
        "extra": pa.array(reading.extra, pa.list_(pa.string())),
        **_arrays(reading.rows),
    }
    for number, level in enumerate(reading.levels.values()):
        inner = {"at": pa.array(level.places, pa.string()), **_arrays(level.cells)}
        struct = pa.StructArray.from_arrays(list(inner.values()), names=list(inner))
        columns[f"l{number}"] = pa.ListArray.from_arrays(pa.array([0, *level.ends], pa.int32()), struct)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _judged_one(text: bytes | None) -> tuple[dict[str, Value] | None, str | None]:
    if text is None:
        return None, None
    try:
        return parsed(text), None
    except MalformedError as error:
        return None, error.code


def _lines(texts: pa.Array, malformed: list[str | None]) -> pa.Array:
    """The records as text; bytes that are no UTF-8 would be none."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    if "encoding" not in malformed:
        return texts.cast(pa.string())
    return pa.array([each and each.decode(errors="replace") for each in texts.to_pylist()], pa.string())


def _arrays(cells: Cells) -> dict[str, pa.Array]:
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    found = {alias: pa.array(texts, pa.string()) for alias, texts in cells.texts.items()}
    return found | {f"k{alias}": pa.array(own, pa.bool_()) for alias, own in cells.own.items()}


def _schema(fields: tuple[PlanField, ...]) -> str:
    """The columns of `judged`, in Spark's words."""
    own = [each for each in fields if not each.level]
    inner = [
        f"l{number} array<struct<at: string, {_columns([each for each in fields if each.level == level], ': ')}>>"
        for number, level in enumerate(levels(fields))
    ]
    return ", ".join([_BASE, *([_columns(own, " ")] if own else []), *inner])


def _columns(fields: list[PlanField], between: str) -> str:
    texts = [f"{each.alias}{between}string" for each in fields]
    return ", ".join([*texts, *(f"{_own(each)}{between}boolean" for each in fields)])

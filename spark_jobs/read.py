"""Reading: exactly the staged bytes, as one data frame of records (`spark_jobs.delivery`), whatever format they are promised in.

What the first bytes of each object are is asked before anything else: a file of another kind is answered without a scan.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contracts.errors import InputError
from contracts.header import HEAD, text_of
from contracts.kinds import UnreadableError, refuse_other_text, settled
from contracts.model import Compression, Format
from spark_jobs.arrow_tables import ArrowTables
from spark_jobs.avro_tables import AvroTables
from spark_jobs.csv_read import open_csv
from spark_jobs.delivery import object_number
from spark_jobs.json_read import open_json
from spark_jobs.lines import beginning_of, stream_of
from spark_jobs.store import store_for
from spark_jobs.table_read import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from contracts.plan import Plan
    from contracts.request import Part, Request
    from spark_jobs.delivery import Delivery
    from spark_jobs.table_read import TableFormat

    Open = Callable[[SparkSession, Plan, Request, list[bytes]], Delivery]


def open_delivery(spark: SparkSession, plan: Plan, request: Request) -> Delivery:
    """The delivery as a lazy frame.

    UnreadableError where it is none of the promised shape, InputError where its bytes are not the pinned ones.
    """
    heads = [_beginning(number, part, plan) for number, part in enumerate(request.parts)]
    storages = {settled(plan.storage, head) for head in heads}
    if len(storages) > 1:
        raise UnreadableError(
            "forms", "some objects of the delivery are JSON lines, others a JSON array: give all of them one form"
        )
    plan = replace(plan, storage=storages.pop())
    return _OPEN[plan.storage.format](spark, plan, request, heads)


def _beginning(number: int, part: Part, plan: Plan) -> bytes:
    """The first bytes of an object, unpacked where the contract says that they are packed."""
    first = _head(part)
    with object_number(number):
        text_of(first, plan.storage, plan.csv)
        if plan.storage.compression is Compression.NONE or not plan.storage.format.is_text:
            return first
        text = beginning_of(stream_of(plan, part.uri))
        refuse_other_text(text, plan.storage, plan.csv)
        return text


def _head(part: Part) -> bytes:
    store = store_for(part.uri)
    try:
        size = store.size(part.uri)
    except OSError as error:
        raise InputError(f"the staged object cannot be read ({error.strerror}): stage it again") from error
    if size != part.size:
        raise InputError(f"the staged object has {size:,} bytes, the request says {part.size:,}: stage it again")
    return store.read(part.uri, HEAD)


def _open_table(
    spark: SparkSession, plan: Plan, request: Request, _heads: list[bytes], reader: TableFormat
) -> Delivery:
    return open_table(spark, plan, request, reader)


_OPEN: dict[Format, Open] = {
    Format.CSV: open_csv,
    Format.JSONL: open_json,
    Format.JSON: open_json,
    Format.PARQUET: partial(_open_table, reader=ArrowTables(Format.PARQUET)),
    Format.ORC: partial(_open_table, reader=ArrowTables(Format.ORC)),
    Format.AVRO: partial(_open_table, reader=AvroTables()),
}

"""Avro files as frames: described by the engine, values by Spark's own reader."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from engine.read.avro_blocks import described
from engine.type.physical import Kind, Physical
from spark_jobs.store import store_for

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from engine.read.schema import Table


class AvroTables:
    """Avro files (`TableFormat`)."""

    def describe(self, address: str) -> Table:
        """See `TableFormat`."""
        with closing(store_for(address).stream(address)) as source:
            return described(source)

    def frame(self, spark: SparkSession, address: str, table: Table, names: list[str]) -> DataFrame:
        """See `TableFormat`."""
        read = spark.read.format("avro").load(address)
        places = {name: at for at, (name, _) in enumerate(table.schema.parts)}
        raw = read.toDF(*(f"a{at}" for at in range(len(table.schema.parts))))
        kinds = dict(table.schema.parts)
        return raw.select(
            F.lit(None).cast("string").alias("broken"),
            *(_canonical(F.col(f"a{places[name]}"), kinds[name]).alias(f"x{at}") for at, name in enumerate(names)),
        )


def _canonical(column: Column, kind: Physical) -> Column:
    """A column of Spark's as its kind is handed on."""
    match kind.kind:
        case Kind.RECORD:
            members = [
                _canonical(column.getField(name), part).alias(f"f{at}") for at, (name, part) in enumerate(kind.parts)
            ]
            return F.when(column.isNotNull(), F.struct(*members))
        case Kind.LIST:
            return F.transform(column, lambda item: _canonical(item, kind.parts[0][1]))
        case Kind.MAP:
            return F.transform_values(column, lambda _, value: _canonical(value, kind.parts[1][1]))
        case Kind.TIME:
            micros = column.cast("bigint") * (1 if kind.words.endswith("micros") else 1000)
            return F.date_format(F.timestamp_micros(micros), "HH:mm:ss.SSSSSS")
        case Kind.OTHER:
            return F.when(column.isNotNull(), F.lit(True))
        case _:
            return column.cast(kind.sql)

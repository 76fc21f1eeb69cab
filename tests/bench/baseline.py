"""What an engineer would write by hand for the weather contract: one typed read, one aggregate, one group-by.

It has no contract, no reasons and no samples; it only computes the numbers behind the 46 rule checks, and prints them as one
JSON object: check id → failing rows.
"""

from __future__ import annotations

import json
import sys
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

if TYPE_CHECKING:
    from collections.abc import Callable

IDENTIFIERS = ("index", "date", "hour", "region", "state", "station", "station_code", "lat", "lon", "elev")
RADIATION = "radiation_kj_m2"
PERCENTAGES = ("humidity_max_perc", "humidity_min_perc", "humidity_perc")
PRESSURES = ("station_pressure_mb", "pressure_max_mb", "pressure_min_mb")
TEMPERATURES = ("temp_c", "dewpoint_c", "temp_max_c", "temp_min_c", "dewpoint_max_c", "dewpoint_min_c")
WINDS = ("wind_direct_grad", "gust_max_m_s", "wind_speed_m_s")
MEASUREMENTS = ("pcpn_mm", *PRESSURES, *TEMPERATURES, *PERCENTAGES, *WINDS)
NOT_NEGATIVE = ("pcpn_mm", *PRESSURES, RADIATION, *PERCENTAGES, *WINDS)
STATES = ("SP", "RJ", "MG", "ES")
DATE = "yyyy-MM-dd"
HOUR = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
MEASURED = ", ".join(
    f"{name} double" for name in ("pcpn_mm", *PRESSURES, RADIATION, *TEMPERATURES, *PERCENTAGES, *WINDS)
)
SCHEMA = (
    f"index int, date string, hour string, {MEASURED}, "
    "region string, state string, station string, station_code string, lat double, lon double, elev double"
)
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def numbers(spark: SparkSession, path: str) -> dict[str, int]:
    """Failing rows of every rule check of the weather contract."""
    frame = spark.read.csv(path, header=True, schema=SCHEMA)
    counted = [F.sum(F.when(failing, 1).otherwise(0)).alias(check) for check, failing in failures().items()]
    found = frame.agg(*counted).first()
    assert found is not None, "an aggregate has one row"
    keys = frame.where(F.col("index").isNotNull()).groupBy("index").count()
    repeats = keys.agg(F.sum(F.col("count") - 1).alias("unique_index_rule/index")).first()
    assert repeats is not None, "an aggregate has one row"
    return {check: value or 0 for check, value in (found.asDict() | repeats.asDict()).items()}


def failures() -> dict[str, Column]:
    """The condition under which a row fails each check that looks at one row at a time."""
    rules: dict[str, tuple[tuple[str, ...], Callable[[str], Column]]] = {
        "not_null_indexing_fields_rule": (IDENTIFIERS, F.isnull),
        "not_null_measurements_rule": (MEASUREMENTS, F.isnull),
        "not_null_radiation_rule": ((RADIATION,), F.isnull),
        "gt_zero_measurements_rule": (NOT_NEGATIVE, lambda field: F.col(field) < 0),
        "max_percent_measurements_rule": (PERCENTAGES, lambda field: F.col(field) > 100),
        "max_degrees_measurements_rule": (("wind_direct_grad",), lambda field: F.col(field) > 360),
        "allowed_states_rule": (("state",), lambda field: ~F.col(field).isin(*STATES)),
        "custom_date_rule": (("date",), lambda field: F.col(field).isNotNull() & F.to_date(field, DATE).isNull()),
        "custom_time_rule": (("hour",), lambda field: ~F.col(field).rlike(HOUR)),
    }
    return {f"{rule}/{field}": failing(field) for rule, (fields, failing) in rules.items() for field in fields}


def main(path: str) -> None:
    """Print the numbers of the file at `path`."""
    builder = reduce(lambda b, pair: b.config(*pair), SETTINGS.items(), SparkSession.builder.master("local[*]"))
    spark = builder.getOrCreate()
    sys.stdout.write(f"{json.dumps(numbers(spark, path))}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])

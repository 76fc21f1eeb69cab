"""The weather contract's 46 rule checks, as data: which rule reads which fields. Nothing of it is taken from Lakegate's reader.

The same checks are written as a hand-made Spark program (`by_hand.py`) and as an ODCS document for datacontract-cli (`odcs`), and
they are multiplied into a contract of more checks (`with_checks`). A check is named `rule/field`, as Lakegate names it.
"""

from __future__ import annotations

import json
from typing import Any

IDENTIFIERS = ("index", "date", "hour", "region", "state", "station", "station_code", "lat", "lon", "elev")
RADIATION = "radiation_kj_m2"
PERCENTAGES = ("humidity_max_perc", "humidity_min_perc", "humidity_perc")
PRESSURES = ("station_pressure_mb", "pressure_max_mb", "pressure_min_mb")
TEMPERATURES = ("temp_c", "dewpoint_c", "temp_max_c", "temp_min_c", "dewpoint_max_c", "dewpoint_min_c")
WINDS = ("wind_direct_grad", "gust_max_m_s", "wind_speed_m_s")
MEASUREMENTS = ("pcpn_mm", *PRESSURES, *TEMPERATURES, *PERCENTAGES, *WINDS)
NOT_NEGATIVE = ("pcpn_mm", *PRESSURES, RADIATION, *PERCENTAGES, *WINDS)
STATES = ("SP", "RJ", "MG", "ES")
NUMBERS = ("pcpn_mm", *PRESSURES, RADIATION, *TEMPERATURES, *PERCENTAGES, *WINDS)
FIELDS = ("index", "date", "hour", *NUMBERS, "region", "state", "station", "station_code", "lat", "lon", "elev")
"""In the order of the file."""
TEXTS = ("date", "hour", "region", "state", "station", "station_code")
RULES = {
    "unique_index_rule": ("index",),
    "not_null_indexing_fields_rule": IDENTIFIERS,
    "not_null_measurements_rule": MEASUREMENTS,
    "not_null_radiation_rule": (RADIATION,),
    "gt_zero_measurements_rule": NOT_NEGATIVE,
    "max_percent_measurements_rule": PERCENTAGES,
    "max_degrees_measurements_rule": ("wind_direct_grad",),
    "allowed_states_rule": ("state",),
    "custom_date_rule": ("date",),
    "custom_time_rule": ("hour",),
}
CHECKS = tuple(f"{rule}/{field}" for rule, fields in RULES.items() for field in fields)
LIMITS = {"max_percent_measurements_rule": 100, "max_degrees_measurements_rule": 360}
MISSING = {"not_null_measurements_rule": 15, "not_null_radiation_rule": 60}
"""Percent of the rows that may lack the value before the contract rejects a file."""
HOUR = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
PATTERNS = {"date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "hour": HOUR}


def odcs(data: str, kind: str, rows: int) -> str:
    """The checks as an ODCS document for datacontract-cli, as JSON (a document of YAML too).

    `data` is the path of the file, `kind` its format, `rows` how many rows it has.
    """
    described = [_property(field, rows) for field in FIELDS]
    document = {
        "apiVersion": "v3.0.2",
        "kind": "DataContract",
        "id": "weather",
        "name": "weather",
        "version": "1.0.0",
        "status": "active",
        "servers": [{"server": "local", "type": "local", "path": data, "format": kind}],
        "schema": [{"name": "weather_record", "physicalType": "table", "properties": described}],
    }
    return json.dumps(document, indent=1)


def _property(field: str, rows: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    quality = []
    if field in NOT_NEGATIVE:
        options["minimum"] = 0
    for rule, most in LIMITS.items():
        if field in RULES[rule]:
            options["maximum"] = most
    if field in PATTERNS:
        options["pattern"] = PATTERNS[field]
    for rule, percent in MISSING.items():
        if field in RULES[rule]:
            quality.append({"id": rule, "metric": "nullValues", "mustBeLessOrEqualTo": rows * percent // 100})
    if field == "index":
        quality.append({"id": "unique_index_rule", "metric": "duplicateValues", "mustBe": 0})
    if field == "state":
        allowed = {"metric": "invalidValues", "mustBe": 0, "arguments": {"validValues": list(STATES)}}
        quality.append({"id": "allowed_states_rule", **allowed})
    return {
        "name": field,
        "logicalType": "string" if field in TEXTS else "integer" if field == "index" else "number",
        "required": field in IDENTIFIERS,
        "logicalTypeOptions": options,
        "quality": [{"type": "library", **each} for each in quality],
    }


def with_checks(document: dict[str, Any], copies: int) -> dict[str, Any]:
    """The weather contract with its 46 checks `copies` times; every copy has bounds of its own, which good data keeps as well."""
    rules = [_varied(rule, copy, number) for copy in range(copies) for number, rule in enumerate(document["quality"])]
    return document | {"quality": rules}


def _varied(rule: dict[str, Any], copy: int, number: int) -> dict[str, Any]:
    if copy == 0:
        return rule
    common = {
        "id": f"{rule['id']}_{copy}",
        "name": f"copy {copy} of {rule['name']}",
        "dimension": "validity",
        "columns": rule["columns"],
    }
    if rule["type"] in {"min", "max"}:
        further = rule["parameter"] + (copy if rule["type"] == "max" else -copy)
        return common | {"type": rule["type"], "parameter": further}
    lengths = {"technology": "GreatExpectations", "call": "expect_column_value_lengths_to_be_between"}
    return common | {"type": "custom", **lengths, "args": {"max_value": 1000 * copy + number}}

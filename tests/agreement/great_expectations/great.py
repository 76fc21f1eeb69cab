"""Runs cases by Great Expectations in its own environment: one JSON document per line in, one per line out.

In: `{"expectation", "arguments", "columns": {name: type}, "rows": [[text or null, …], …]}`.
Out: `{"success", "unexpected"}`, the latter null where rows are not counted; `{"error"}` where it raised.
"""

from __future__ import annotations

import json
import sys
import warnings

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd

READ = {
    "integer": float,
    "number": float,
    "string": str,
    "date": pd.Timestamp,
    "timestamp": pd.Timestamp,
}
"""How values of each type are read; whole numbers as floats, which allow nulls."""


def frame_of(columns: dict[str, str], rows: list[list[str | None]]) -> pd.DataFrame:
    values = {
        name: [None if row[at] is None else READ[kind](row[at]) for row in rows]
        for at, (name, kind) in enumerate(columns.items())
    }
    kinds = {"integer": "float64", "number": "float64", "string": "object"}
    return pd.DataFrame(
        {name: pd.Series(found, dtype=kinds.get(columns[name], "datetime64[ns]")) for name, found in values.items()}
    )


def answer(definition: object, case: dict[str, object]) -> dict[str, object]:
    name = "".join(part.capitalize() for part in case["expectation"].split("_"))
    batch = definition.get_batch({"dataframe": frame_of(case["columns"], case["rows"])})
    found = batch.validate(getattr(gxe, name)(**case["arguments"]))
    if found.exception_info.get("raised_exception") or any(
        isinstance(each, dict) and each.get("raised_exception") for each in found.exception_info.values()
    ):
        return {"error": str(found.exception_info)[:300]}
    return {"success": bool(found.success), "unexpected": found.result.get("unexpected_count")}


def main() -> None:
    warnings.simplefilter("ignore")
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_pandas("agreement")
    definition = source.add_dataframe_asset("cases").add_batch_definition_whole_dataframe("all")
    for line in sys.stdin:
        try:
            found = answer(definition, json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
            found = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(found), flush=True)  # noqa: T201 - a program of lines


if __name__ == "__main__":
    main()

"""Typed files have the rows that the reference reads in a delivery, for generated contracts and files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given

from lakegate.plan.plan import Plan
from tests.deliveries.delivery import measure_by_function
from tests.deliveries.typed import bytes_of, plan_in, rows_of, stored_values, typed_files
from tests.deliveries.written import as_parquet
from tests.reference.sampling import sampled
from tests.reference.typed_rows import Delivered, as_csv, as_json_lines, of_csv, of_json, values_of_csv, values_of_json


@sampled(25, 500)
@given(of_csv())
def test_rows_of_text_are_typed_by_the_grammar(found: Delivered) -> None:
    """Every type, good texts and others; the judge function writes the same bytes."""
    plan = plan_in(found.contract("csv"))
    with tempfile.TemporaryDirectory() as folder:
        files = typed_files(plan, Path(folder) / "a", as_csv(found))
        again = typed_files(plan, Path(folder) / "b", as_csv(found), engine=measure_by_function)

        assert stored_values(rows_of(files)) == values_of_csv(found)
        assert bytes_of(files) == bytes_of(again)


@sampled(25, 500)
@given(of_json())
def test_nested_values_are_put_together_again(found: Delivered) -> None:
    """Records, lists and maps in one another, absent members, values of other kinds; delivered as Parquet they are the same."""
    plan = plan_in(found.contract("jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(typed_files(plan, Path(folder) / "a", as_json_lines(found)))
        delivered: Plan = plan_in(found.contract("parquet"))
        again = rows_of(typed_files(delivered, Path(folder) / "b", as_parquet(rows)))

        assert stored_values(rows) == values_of_json(found)
        assert stored_values(again) == values_of_json(found)
        assert again.schema == rows.schema

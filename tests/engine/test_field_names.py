"""Fields whose names look like paths of other ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lakegate.contract.field_paths import column_path
from lakegate.contract.file_formats import Format
from tests.deliveries.delivery import Judged
from tests.deliveries.hostile_names import FORMATS, of_bounds
from tests.deliveries.hostile_names import hostile_dataset as dataset_of
from tests.reference.evaluator import measure

SEEDS = range(8)


@pytest.mark.parametrize("form", FORMATS)
def test_each_field_is_measured_by_its_own_rule(form: Format, judge_files: Callable[..., Judged]) -> None:
    """A column `a.b` beside a record `a`, `l[]` beside a list, `m.value` beside a map: no rule falls on the other field."""
    for seed in SEEDS:
        case = dataset_of(seed, form)
        plan = case.plan(form)
        result = judge_files(plan, case.file(form)).result

        assert (seed, result.unreadable, result.columns and result.columns.extra) == (seed, None, ())
        assert (seed, of_bounds(plan, result)) == (seed, case.expected)


@pytest.mark.parametrize("form", FORMATS)
def test_a_field_is_not_taken_for_an_extra_one(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Each second column of the file is none of the contract: the others are read and measured as they were."""
    for seed in SEEDS:
        case = dataset_of(seed, form)
        without = [name for name, _ in case.columns[::2]]
        plan = case.plan(form, *without)
        result = judge_files(plan, case.file(form)).result
        columns = result.columns

        assert (seed, result.unreadable, columns and columns.absent) == (seed, None, ())
        assert columns is not None
        if not form.is_json:  # of keys the names may be masked
            assert sorted(columns.extra) == sorted(map(column_path, without))
        places = {each.place for each in plan.fields}
        assert (seed, of_bounds(plan, result)) == (
            seed,
            {at: found for at, found in case.expected.items() if at in places},
        )


def test_the_reference_measures_the_same(judge_files: Callable[..., Judged]) -> None:
    """The second implementation, over the values of each column and of each member of a record, by its place."""

    def value(row: Any, place: tuple[str, ...]) -> str | None:
        for step in place:
            row = None if row is None else row[step[1:]]
        return None if row is None else str(row)

    for seed in SEEDS:
        case = dataset_of(seed, Format.JSONL)
        plan = case.plan(Format.JSONL)
        fields = [each for each in plan.fields if not each.level and each.shape.value == "value"]
        checks = tuple(each for each in plan.checks if each.reads <= {field.name for field in fields})
        rows = [[value(row, each.place) for each in fields] for row in case.rows]
        ours = judge_files(plan, case.file(Format.JSONL)).result
        theirs = measure(replace(plan, checks=checks), [each.name for each in fields], rows)
        bounds = of_bounds(plan, ours)

        assert of_bounds(plan, theirs) == {each.place: bounds[each.place] for each in fields}

"""Cases for Great Expectations and for us: an expectation, its arguments, and rows of text, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Draw = random.Random
Rows = list[list[str | None]]
Arguments = tuple[dict[str, object], dict[str, str]]
"""The arguments, and the columns with their types."""

POOLS = {
    "integer": ["-3", "-1", "0", "1", "2", "2", "3", "5", "7", "10"],
    "number": ["-2.5", "-1", "-0.0", "0", "0.1", "0.5", "1", "2.25", "3.5", "10", "1e3"],
    "string": ["a", "b", "b", "ab", "abc", "B", "", "é", "x1", "2024-02-29", "29/02/2023", "2024-13-01"],
    "date": ["2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "1999-12-31"],
}
MAX_ROWS = 8
MOSTLY = [None, None, 0.25, 0.5, 0.6, 0.75, 0.9, 1.0]
PATTERNS = ["^a", "b", "^[a-c]+$", "[0-9]", "é", "^$", "x|y", r"\d{4}"]


CONDITIONED = 0.25
KEPT = {"k": "string", "m": "integer"}
"""Columns that conditions name."""
CONDITIONS = [
    'k == "b"',
    "m > 1",
    'm >= 0 and k == "b"',
    "m <= 2 or m == 7",
    "k in ['a', 'ab']",
    "m.notnull()",
]
"""No `not` and no `!=`: pandas treats null as not below 3; in SQL and here the result is unknown."""


@dataclass(frozen=True, slots=True)
class AgreedCase:
    """One expectation on one small table."""

    expectation: str
    arguments: dict[str, object]
    columns: dict[str, str]
    rows: tuple[tuple[str | None, ...], ...]


def cases(seed: int, count: int) -> list[AgreedCase]:
    """So many cases, every expectation in turn."""
    names = sorted(EXPECTATIONS)
    return [_case(names[at % len(names)], random.Random(f"{seed}/{at}")) for at in range(count)]


def _case(name: str, draw: Draw) -> AgreedCase:
    arguments, columns = EXPECTATIONS[name](draw)
    nulls = draw.choice([0, 0.2, 0.2, 0.5, 1])
    pools = {column: draw.sample(POOLS[kind], draw.randint(1, len(POOLS[kind]))) for column, kind in columns.items()}
    rows = tuple(
        tuple(None if draw.random() < nulls else draw.choice(pools[column]) for column in columns)
        for _ in range(draw.randint(0, MAX_ROWS))
    )
    return AgreedCase(name, {key: value for key, value in arguments.items() if value is not None}, columns, rows)


def _kind(draw: Draw) -> str:
    return draw.choice(["integer", "number", "string"])


def _numeric(draw: Draw) -> str:
    return draw.choice(["integer", "number"])


def _set(draw: Draw, kind: str) -> list[object]:
    texts = draw.sample(POOLS[kind], draw.randint(1, 4))
    return [_value(kind, text) for text in dict.fromkeys(texts)]


def _value(kind: str, text: str) -> object:
    return text if kind in {"string", "date"} else int(text) if kind == "integer" else float(text)


def _ends(draw: Draw, low: float, high: float, *, whole: bool = False) -> dict[str, object]:
    number = (
        (lambda: draw.randint(int(low), int(high)))
        if whole
        else (lambda: draw.choice([low, high, round(draw.uniform(low, high), 1)]))
    )
    first, second = sorted((number(), number()))
    which = draw.choice(["both", "low", "high"])
    return {"min_value": first if which != "high" else None, "max_value": second if which != "low" else None}


def _strict(draw: Draw) -> dict[str, object]:
    return {name: draw.choice([None, True, False]) for name in ("strict_min", "strict_max")}


def _of_column(
    own: Callable[[Draw, str], dict[str, object]], kind: Callable[[Draw], str] = _kind
) -> Callable[[Draw], Arguments]:
    def arguments_of(draw: Draw) -> Arguments:
        drawn = kind(draw)
        arguments, columns = {"column": "a", **own(draw, drawn)}, {"a": drawn}
        if draw.random() < CONDITIONED:
            return arguments | {"row_condition": draw.choice(CONDITIONS), "condition_parser": "pandas"}, columns | KEPT
        return arguments, columns

    return arguments_of


def _mostly(draw: Draw, _: str = "") -> dict[str, object]:
    return {"mostly": draw.choice(MOSTLY)}


def _in_set(draw: Draw, kind: str) -> dict[str, object]:
    return {"value_set": _set(draw, kind)}


def _between(draw: Draw, kind: str) -> dict[str, object]:
    if kind == "date":
        first, second = sorted(draw.sample(POOLS["date"], 2))
        return {"min_value": first, "max_value": second}
    return {**_ends(draw, -3, 10, whole=kind == "integer"), **_strict(draw)}


def _aggregate(low: float, high: float) -> Callable[[Draw, str], dict[str, object]]:
    return lambda draw, _: {**_ends(draw, low, high), **_strict(draw)}


def _pair(draw: Draw, own: dict[str, object]) -> Arguments:
    kind = draw.choice(["integer", "number", "string", "date"])
    ignored = draw.choice([None, "both_values_are_missing", "either_value_is_missing", "neither"])
    return {"column_A": "a", "column_B": "b", "ignore_row_if": ignored, **_mostly(draw), **own}, {"a": kind, "b": kind}


def _several(draw: Draw) -> Arguments:
    kind = _kind(draw)
    columns = dict.fromkeys(draw.choice([["a", "b"], ["a", "b", "c"]]), kind)
    ignored = draw.choice([None, "all_values_are_missing", "any_value_is_missing", "never"])
    return {"column_list": list(columns), "ignore_row_if": ignored, **_mostly(draw)}, columns


def _table(own: Callable[[Draw], dict[str, object]]) -> Callable[[Draw], Arguments]:
    def arguments_of(draw: Draw) -> Arguments:
        return own(draw), dict.fromkeys(draw.choice([["a"], ["a", "b"], ["b", "a", "c"]]), _kind(draw))

    return arguments_of


def _quantiles(draw: Draw, _: str) -> dict[str, object]:
    shares = draw.sample([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1], draw.randint(1, 3))
    ranges = [sorted(draw.sample([-3, 0, 0.5, 1, 2, 3.5, 10], 2)) for _ in shares]
    open_ended = [draw.choice([[low, high], [None, high], [low, None]]) for low, high in ranges]
    return {"quantile_ranges": {"quantiles": shares, "value_ranges": open_ended}}


def _patterns(draw: Draw) -> list[str]:
    return draw.sample(PATTERNS, draw.randint(1, 3))


def _text(draw: Draw) -> str:
    del draw
    return "string"


EXPECTATIONS: dict[str, Callable[[Draw], Arguments]] = {
    "expect_column_values_to_not_be_null": _of_column(_mostly),
    "expect_column_values_to_be_null": _of_column(_mostly),
    "expect_column_proportion_of_non_null_values_to_be_between": _of_column(_aggregate(0, 1)),
    "expect_column_values_to_be_in_set": _of_column(lambda draw, kind: {**_in_set(draw, kind), **_mostly(draw)}),
    "expect_column_values_to_not_be_in_set": _of_column(lambda draw, kind: {**_in_set(draw, kind), **_mostly(draw)}),
    "expect_column_distinct_values_to_be_in_set": _of_column(_in_set),
    "expect_column_distinct_values_to_contain_set": _of_column(_in_set),
    "expect_column_distinct_values_to_equal_set": _of_column(_in_set),
    "expect_column_most_common_value_to_be_in_set": _of_column(
        lambda draw, kind: {**_in_set(draw, kind), "ties_okay": draw.choice([None, True, False])}
    ),
    "expect_column_values_to_be_between": _of_column(
        lambda draw, kind: {**_between(draw, kind), **_mostly(draw)}, _numeric
    ),
    "expect_column_values_to_match_regex": _of_column(
        lambda draw, _: {"regex": draw.choice(PATTERNS), **_mostly(draw)}, _text
    ),
    "expect_column_values_to_not_match_regex": _of_column(
        lambda draw, _: {"regex": draw.choice(PATTERNS), **_mostly(draw)}, _text
    ),
    "expect_column_values_to_match_regex_list": _of_column(
        lambda draw, _: {"regex_list": _patterns(draw), "match_on": draw.choice(["any", "all"]), **_mostly(draw)}, _text
    ),
    "expect_column_values_to_not_match_regex_list": _of_column(
        lambda draw, _: {"regex_list": _patterns(draw), **_mostly(draw)}, _text
    ),
    "expect_column_values_to_match_strftime_format": _of_column(
        lambda draw, _: {"strftime_format": draw.choice(["%Y-%m-%d", "%d/%m/%Y"]), **_mostly(draw)}, _text
    ),
    "expect_column_values_to_be_unique": _of_column(_mostly),
    "expect_compound_columns_to_be_unique": _several,
    "expect_select_column_values_to_be_unique_within_record": _several,
    "expect_column_pair_values_a_to_be_greater_than_b": lambda draw: _pair(
        draw, {"or_equal": draw.choice([None, True, False])}
    ),
    "expect_column_pair_values_to_be_equal": lambda draw: _pair(draw, {}),
    "expect_column_value_lengths_to_be_between": _of_column(
        lambda draw, _: {**_ends(draw, 0, 4, whole=True), **_mostly(draw)}, _text
    ),
    "expect_column_value_lengths_to_equal": _of_column(
        lambda draw, _: {"value": draw.randint(0, 3), **_mostly(draw)}, _text
    ),
    "expect_column_min_to_be_between": _of_column(_between, _numeric),
    "expect_column_max_to_be_between": _of_column(_between, _numeric),
    "expect_column_mean_to_be_between": _of_column(_aggregate(-3, 10), _numeric),
    "expect_column_median_to_be_between": _of_column(_aggregate(-3, 10), _numeric),
    "expect_column_sum_to_be_between": _of_column(_aggregate(-5, 30), _numeric),
    "expect_column_stdev_to_be_between": _of_column(_aggregate(0, 5), _numeric),
    "expect_column_quantile_values_to_be_between": _of_column(_quantiles, _numeric),
    "expect_column_proportion_of_unique_values_to_be_between": _of_column(_aggregate(0, 1)),
    "expect_column_unique_value_count_to_be_between": _of_column(
        lambda draw, _: {**_ends(draw, 0, 6, whole=True), **_strict(draw)}
    ),
    "expect_table_row_count_to_be_between": _table(lambda draw: {**_ends(draw, 0, 8, whole=True), **_strict(draw)}),
    "expect_table_row_count_to_equal": _table(lambda draw: {"value": draw.randint(0, MAX_ROWS)}),
    "expect_table_column_count_to_be_between": _table(lambda draw: _ends(draw, 0, 4, whole=True)),
    "expect_table_column_count_to_equal": _table(lambda draw: {"value": draw.randint(1, 3)}),
    "expect_table_columns_to_match_ordered_list": _table(
        lambda draw: {"column_list": draw.choice([["a"], ["a", "b"], ["b", "a"], ["b", "a", "c"]])}
    ),
    "expect_table_columns_to_match_set": _table(
        lambda draw: {
            "column_set": draw.choice([["a"], ["a", "b"], ["b", "a"], ["c", "a", "b"]]),
            "exact_match": draw.choice([None, True, False]),
        }
    ),
    "expect_column_to_exist": _table(lambda draw: {"column": draw.choice(["a", "b", "z"])}),
}
"""Each expectation that is measured, but for those that pandas does not know (`like` patterns) or means otherwise (types)."""

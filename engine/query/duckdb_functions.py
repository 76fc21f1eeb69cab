"""The functions of queries: each name that plans use, and its form in DuckDB's SQL. No other function is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakegate.engine.query.casts import rounded
from lakegate.engine.query.value import Type, Value, common, once, refuse

ZERO = "a division by zero"
"""The message of the error that the query raises; it is not shown."""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate or a function over a window: text that FILTER and OVER follow, and a template around all of that."""

    text: str
    type: Type
    around: str = "{0}"


Translate = Callable[..., Value]


def number_of(value: Value) -> int:
    """A constant whole number of a query."""
    if not value.text.isdigit():
        raise refuse("a number that is computed")
    return int(value.text)


def divisor(value: Value) -> str:
    """A float that must not be zero."""
    return once(value.text, f"CASE WHEN p = 0 THEN CAST(error('{ZERO}') AS DOUBLE) ELSE p END")


def quotient(left: Value, right: Value) -> Value:
    """Floats divided."""
    if {left.type, right.type} - {Type.DOUBLE, Type.INTEGER, Type.NULL}:
        raise refuse("a quotient of exact numbers")
    if right.text.startswith("CAST('") and float(right.text.split("'")[1]):
        return Value(f"({left.text} / {right.text})", Type.DOUBLE)
    return Value(f"({left.text} / {divisor(right)})", Type.DOUBLE)


def _plain(name: str, result: Type) -> Translate:
    return lambda *given: Value(f"{name}({', '.join(each.text for each in given)})", result)


def _same(name: str) -> Translate:
    """A function whose result is of the type of what it is given."""
    return lambda *given: Value(f"{name}({', '.join(each.text for each in given)})", common(*given))


def _upper(value: Value) -> Value:
    """Of the letters whose upper form is longer, the one that is in common use."""
    return Value(f"upper(replace({value.text}, chr(223), 'ss'))", Type.TEXT)


def _concat(*given: Value) -> Value:
    return Value(f"({' || '.join(each.text for each in given)})", Type.TEXT)


def _floor(name: str) -> Translate:
    return lambda value: Value(f"{name}({value.text})", Type.SUM if value.type is Type.DECIMAL else value.type)


def _nullif(value: Value, other: Value) -> Value:
    return Value(f"nullif({value.text}, {number_of(other)})", value.type)


def _pmod(value: Value, by: Value) -> Value:
    return Value(f"((({value.text} % {by.text}) + {by.text}) % {by.text})", Type.INTEGER)


def _days(later: Value, earlier: Value) -> Value:
    return Value(f"date_diff('day', {earlier.text}, {later.text})", Type.INTEGER)


def _moved(sign: str) -> Translate:
    return lambda day, days: Value(f"({day.text} {sign} CAST({days.text} AS INTEGER))", Type.DATE)


def _months(years: Value, months: Value) -> Value:
    return Value(f"to_months(CAST({number_of(years) * 12 + signed(months)} AS INTEGER))", Type.MONTHS)


def signed(value: Value) -> int:
    """A constant whole number of a query, with a sign."""
    return -number_of(Value(value.text[1:], value.type)) if value.text.startswith("-") else number_of(value)


FUNCTIONS: dict[str, tuple[int, Translate]] = {
    **{name: (1, _plain(name, Type.INTEGER)) for name in ("day", "dayofyear", "hour", "minute", "month", "quarter")},
    **{name: (1, _plain(name, Type.INTEGER)) for name in ("length", "second", "weekofyear", "year")},
    **{name: (1, _plain(name, Type.TEXT)) for name in ("lower", "trim")},
    **{name: (-1, _same(name)) for name in ("coalesce", "greatest", "least", "substring")},
    "abs": (1, _same("abs")),
    "ceil": (1, _floor("ceil")),
    "concat": (-1, _concat),
    "contains": (2, _plain("contains", Type.BOOLEAN)),
    "date_add": (2, _moved("+")),
    "date_sub": (2, _moved("-")),
    "datediff": (2, _days),
    "dayofweek": (1, lambda value: Value(f"(dayofweek({value.text}) + 1)", Type.INTEGER)),
    "endswith": (2, _plain("suffix", Type.BOOLEAN)),
    "floor": (1, _floor("floor")),
    "left": (2, lambda text, count: Value(f"left({text.text}, {number_of(count)})", Type.TEXT)),
    "make_ym_interval": (2, _months),
    "nullif": (2, _nullif),
    "pmod": (2, _pmod),
    "power": (2, _plain("pow", Type.DOUBLE)),
    "replace": (3, _plain("replace", Type.TEXT)),
    "right": (2, lambda text, count: Value(f"right({text.text}, {number_of(count)})", Type.TEXT)),
    "rint": (1, lambda value: Value(f"round_even({value.text}, 0)", Type.DOUBLE)),
    "round": (2, lambda value, places: rounded(value, number_of(places))),
    "sqrt": (1, _plain("sqrt", Type.DOUBLE)),
    "startswith": (2, _plain("starts_with", Type.BOOLEAN)),
    "timestamp_micros": (1, _plain("make_timestamp", Type.TIMESTAMP)),
    "unix_micros": (1, _plain("epoch_us", Type.INTEGER)),
    "upper": (1, _upper),
    "weekday": (1, lambda value: Value(f"(isodow({value.text}) - 1)", Type.INTEGER)),
}
"""By the name that plans use: the number of arguments (-1: any number), and the form in DuckDB's SQL."""


_OF_NULL = {
    **dict.fromkeys(("abs", "ceil", "floor", "power", "rint", "round", "sqrt"), Type.DOUBLE),
    **dict.fromkeys(("concat", "contains", "endswith", "left", "length", "lower", "replace", "right"), Type.TEXT),
    **dict.fromkeys(("startswith", "substring", "trim", "upper"), Type.TEXT),
    **dict.fromkeys(("date_add", "date_sub", "datediff"), Type.DATE),
    **dict.fromkeys(("day", "dayofweek", "dayofyear", "hour", "minute", "month", "quarter"), Type.TIMESTAMP),
    **dict.fromkeys(("second", "unix_micros", "weekday", "weekofyear", "year"), Type.TIMESTAMP),
}
"""As which type a function takes a NULL that has none."""


def called(name: str, given: list[Value]) -> Value:
    """A function of values."""
    if name not in FUNCTIONS or FUNCTIONS[name][0] not in {-1, len(given)} or not given:
        raise refuse(f"the function {name[:20]!r}")
    to = _OF_NULL.get(name)
    typed = [Value(f"CAST({each.text} AS {to.value})", to) if to and each.type is Type.NULL else each for each in given]
    return FUNCTIONS[name][1](*typed)


def _count_if(_word: str, value: Value) -> AggregateFunction:
    return AggregateFunction(f"count(CASE WHEN {value.text} THEN 1 END)", Type.INTEGER)


def _sum(word: str, value: Value) -> AggregateFunction:
    if value.type is Type.INTEGER:
        return AggregateFunction(f"sum({word}{value.text})", Type.INTEGER, "CAST({0} AS BIGINT)")
    return AggregateFunction(f"sum({word}{value.text})", value.type)


def _percentile(_word: str, value: Value, share: Value) -> AggregateFunction:
    return AggregateFunction(f"quantile_cont({value.text}, {share.text})", Type.DOUBLE)


def _over_rows(name: str) -> Callable[..., AggregateFunction]:
    return lambda _word, value, rows: AggregateFunction(f"{name}({value.text}, {number_of(rows)})", value.type)


def _of(name: str, result: Type | None) -> Callable[..., AggregateFunction]:
    return lambda word, value: AggregateFunction(f"{name}({word}{value.text})", result or value.type)


def _ranking(name: str) -> Callable[..., AggregateFunction]:
    return lambda _word: AggregateFunction(f"{name}()", Type.INTEGER)


AGGREGATES: dict[str, tuple[int, Callable[..., AggregateFunction]]] = {
    **{name: (1, _of(name, Type.DOUBLE)) for name in ("avg", "stddev_pop", "stddev_samp", "var_pop", "var_samp")},
    **{name: (0, _ranking(name)) for name in ("dense_rank", "rank", "row_number")},
    "count": (1, _of("count", Type.INTEGER)),
    "count_if": (1, _count_if),
    "lag": (2, _over_rows("lag")),
    "lead": (2, _over_rows("lead")),
    "max": (1, _of("max", None)),
    "min": (1, _of("min", None)),
    "percentile": (2, _percentile),
    "sum": (1, _sum),
}
"""Likewise, of aggregates and what is computed over windows."""

"""Differences of DuckDB SQL: casts, functions, constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lakegate.contract.logical_types import SCALE, LogicalType

if TYPE_CHECKING:
    from lakegate.plan.check import Query, QueryColumn

# ---- Expressions and types ----


class Type(Enum):
    """Types of values in a query, as far as the engines treat them differently."""

    INTEGER = "BIGINT"
    SUM = "DECIMAL(38,0)"
    DECIMAL = "DECIMAL(38,18)"
    WIDE = "DECIMAL"
    """Decimals of another scale."""
    DOUBLE = "DOUBLE"
    TEXT = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    MONTHS = "INTERVAL"
    NULL = "NULL"


TYPES = {
    LogicalType.STRING: Type.TEXT,
    LogicalType.INTEGER: Type.INTEGER,
    LogicalType.NUMBER: Type.DOUBLE,
    LogicalType.DECIMAL: Type.DECIMAL,
    LogicalType.BOOLEAN: Type.BOOLEAN,
    LogicalType.DATE: Type.DATE,
    LogicalType.TIME: Type.TEXT,
    LogicalType.TIMESTAMP: Type.TIMESTAMP,
    LogicalType.BINARY: Type.TEXT,
}
"""Of the columns of relations."""


def type_of(column: QueryColumn) -> Type:
    """The type of a column of a relation."""
    return Type.WIDE if column.type is LogicalType.DECIMAL and column.scale != SCALE else TYPES[column.type]


class UnreadError(Exception):
    """`lakegate.sql` does not generate such a query."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression that needs no brackets around it."""

    text: str
    type: Type


def common(*values: Value) -> Type:
    """The common type of alternative values; NULL takes any."""
    return next((each.type for each in values if each.type is not Type.NULL), Type.NULL)


def once(value: str, template: str) -> str:
    """SQL that reads a value several times, as `p`, and computes it once."""
    return f"list_transform([{value}], lambda p: {template})[1]"


def refuse(what: str) -> UnreadError:
    """The error for a text that is not generated."""
    return UnreadError(f"{what} is not part of a query of a plan")


# ---- Casts as in the Spark job ----
# DuckDB reads other texts than Spark (`1_000`, `0x10`, `1.5` as a whole number): the part that both read is extracted first. A
# text without such a part becomes the empty text, which is not a value of any type.


_EDGE = r"[\x{0}-\x{20}]*"
_DIGITS = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_SIGN = "[-+]?"
_DATE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]{1,9})?)?"
_ZONE = r"Z|UTC|GMT|[-+][0-9]{1,2}(?::[0-9]{2})?"
_TEXTS = {
    Type.INTEGER: f"({_SIGN}[0-9]+)",
    Type.DOUBLE: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?|(?i:{_SIGN}inf(?:inity)?|nan))[fFdD]?",
    Type.DECIMAL: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?)",
    Type.DATE: f"({_DATE})(?:[ T].*)?",
    Type.TIMESTAMP: f"({_DATE}(?:[ T]{_TIME} ?(?:{_ZONE})?)?)",
}
"""The part of a text that is read, as the first group."""
_SHORT_DATES = ((f"([0-9]{{4}}){_EDGE}", r"\1-01-01"), (f"([0-9]{{4}}-[0-9]{{1,2}}){_EDGE}", r"\1-01"))
"""A year alone is its first day, a month too."""
_LAST_WHOLE = 10**18
"""From here on floats have no fractions."""


def cast(value: Value, to: Type) -> Value:
    """A cast that fails for values that the type does not have."""
    if value.type in {to, Type.NULL}:
        return Value(f"CAST({value.text} AS {to.value})", to)
    match value.type, to:
        case ((Type.DOUBLE | Type.DECIMAL), Type.INTEGER):
            return Value(f"CAST(trunc({value.text}) AS {to.value})", to)
        case Type.DOUBLE, Type.DECIMAL:
            return Value(f"CAST(CAST({value.text} AS VARCHAR) AS {to.value})", to)
        case Type.TEXT, _:
            raise refuse("a cast of a text that may fail")
        case _:
            return Value(f"CAST({value.text} AS {to.value})", to)


def try_cast(value: Value, to: Type) -> Value:
    """A cast that is NULL for values that the type does not have."""
    match value.type, to:
        case Type.TEXT, _:
            return Value(_read(value.text, to), to)
        case Type.DOUBLE, Type.DECIMAL:
            return Value(f"TRY_CAST(CAST({value.text} AS VARCHAR) AS {to.value})", to)
        case ((Type.INTEGER | Type.SUM | Type.DECIMAL | Type.NULL), Type.DECIMAL):
            return Value(f"TRY_CAST({value.text} AS {to.value})", to)
        case _:
            raise refuse(f"a cast of {value.type.name} to {to.name}")


def rounded(value: Value, places: int) -> Value:
    """A number rounded half up, a float by the digits that it is written with."""
    if value.type is Type.DOUBLE:
        exact = f"CAST(round(CAST(CAST(p AS VARCHAR) AS DECIMAL(38,18)), {places}) AS DOUBLE)"
        return Value(once(value.text, f"CASE WHEN abs(p) < {_LAST_WHOLE} THEN {exact} ELSE p END"), value.type)
    return Value(f"CAST(round({value.text}, {places}) AS {value.type.value})", value.type)


def _read(text: str, to: Type) -> str:
    grammar = _TEXTS.get(to)
    if grammar is None:
        raise refuse(f"a cast of a text to {to.name}")
    if to in {Type.DATE, Type.TIMESTAMP}:
        for short, longer in _SHORT_DATES:
            text = rf"regexp_replace({text}, '\A{_EDGE}{short}\z', '{longer}')"
    part = rf"regexp_extract({text}, '\A{_EDGE}{grammar}{_EDGE}\z', 1)"
    if to is Type.TIMESTAMP:
        # A cast to TIMESTAMP would leave an offset out.
        return f"CAST(TRY_CAST({part} AS TIMESTAMPTZ) AS TIMESTAMP)"
    return f"TRY_CAST({part} AS {to.value})"


# ---- Functions: no other one is allowed ----


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


# ---- Constants and operators ----


_LITERAL = re.compile(
    r"(?P<whole>[0-9]{1,18})L?|(?P<exact>[0-9]{0,20}\.?[0-9]{0,18})BD|(?P<float>[0-9.]+(?:[eE][-+]?[0-9]+)?)D"
)
_COMPARISONS = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "IS NOT DISTINCT FROM"}
_NUMBERS = frozenset({Type.INTEGER, Type.SUM, Type.DECIMAL, Type.DOUBLE, Type.NULL})
_LARGEST = f"CAST('{'9' * 20}.{'9' * 18}' AS DECIMAL(38,18))"


def literal(token: str) -> Value:
    """A constant number: `7` as such, `7L` of 64 bits, `7.5BD` exact, `7.5D` a float."""
    found = _LITERAL.fullmatch(token)
    if found is None:
        raise refuse(f"the number {token[:20]}")
    if found["whole"]:
        return Value(f"CAST({token[:-1]} AS BIGINT)" if token.endswith("L") else token, Type.INTEGER)
    if found["exact"]:
        return Value(f"CAST('{found['exact']}' AS DECIMAL(38,18))", Type.DECIMAL)
    return Value(f"CAST('{float(found['float'])!r}' AS DOUBLE)", Type.DOUBLE)


def negated(value: Value) -> Value:
    """A number with the other sign."""
    if value.type not in _NUMBERS:
        raise refuse(f"the negative of {value.type.name}")
    return Value(f"(- {value.text})", value.type)


def binary(sign: str, left: Value, right: Value) -> Value:
    """An operator between two values."""
    types = {left.type, right.type}
    if sign in {"AND", "OR"}:
        return Value(f"({left.text} {sign} {right.text})", Type.BOOLEAN)
    if sign in _COMPARISONS:
        return Value(f"({left.text} {_COMPARISONS[sign]} {right.text})", Type.BOOLEAN)
    if sign == "LIKE" and right.text.startswith("$t"):
        return Value(f"({left.text} LIKE {right.text})", Type.BOOLEAN)
    if sign in {"+", "-"} and types == {Type.TIMESTAMP, Type.MONTHS}:
        return Value(f"({left.text} {sign} {right.text})", Type.TIMESTAMP)
    if not types <= _NUMBERS:
        raise refuse(f"{sign[:10]!r} between {left.type.name} and {right.type.name}")
    return _reckoned(sign, left, right)


def _reckoned(sign: str, left: Value, right: Value) -> Value:
    kind = common(left, right)
    if sign == "/":
        return quotient(left, right)
    if sign == "div":
        return Value(f"({left.text} // {right.text})", Type.INTEGER)
    if sign == "%":
        by = divisor(right) if kind is Type.DOUBLE else right.text
        return Value(f"({left.text} % {by})", kind)
    if sign in {"+", "-"} and kind is Type.DECIMAL:
        return Value(_exactly(sign, left.text, right.text), kind)
    if sign in {"+", "-", "*"}:
        return Value(f"({left.text} {sign} {right.text})", kind)
    raise refuse(f"the operator {sign[:10]!r}")


def _exactly(sign: str, left: str, right: str) -> str:
    """The sum of exact numbers; NULL beyond 20 digits before the point."""
    other = "p['b']" if sign == "+" else "(- p['b'])"
    too_large = f"p['a'] > 0 AND {other} > {_LARGEST} - p['a']"
    too_small = f"p['a'] < 0 AND {other} < - {_LARGEST} - p['a']"
    added = f"CASE WHEN ({too_large}) OR ({too_small}) THEN NULL ELSE p['a'] + {other} END"
    return once(f"struct_pack(a := {left}, b := {right})", added)


# ---- Tokens ----


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:BD|L|D)?\b)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<bound>:(?:now|t[0-9]{1,4})\b)|(?P<text>'[^'\\]*')|(?P<sign><=>|<>|<=|>=|[=<>+*/%(),.-]))"
)
_SETS = ("UNION", "INTERSECT", "EXCEPT")


class Tokens:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise refuse(repr(text[at : at + 20]))
            self._tokens.append(found[0].strip())
            at = found.end()
        self._at = 0
        self._closing = _closing(self._tokens)

    @property
    def place(self) -> int:
        """The position of the next token, for `back`."""
        return self._at

    def back(self, place: int) -> None:
        """Continue at another position."""
        self._at = place

    def peek(self, ahead: int = 0) -> str:
        """The next token, or one after it; empty after the last one."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which is one of these, if any are named."""
        found = self.peek()
        if wanted and found not in wanted:
            raise refuse(f"{found[:20]!r} instead of {wanted[0]!r}")
        self._at += 1
        return found

    def follow(self, *words: str) -> bool:
        """Whether these tokens follow; they are then taken."""
        if tuple(map(self.peek, range(len(words)))) != words:
            return False
        self._at += len(words)
        return True

    def match(self, form: re.Pattern[str]) -> str:
        """The next token, which has this form."""
        found = self.take()
        if not form.fullmatch(found):
            raise refuse(repr(found[:20]))
        return found

    def each(self, read: Callable[[], str]) -> str:
        """Parts with commas between them."""
        found = [read()]
        while self.follow(","):
            found.append(read())
        return ", ".join(found)

    def holds_query(self) -> bool:
        """Whether the bracket that opens here contains a query, not a value."""
        if self.peek() != "(":
            return False
        if self.peek(1) in {"SELECT", "WITH"}:
            return True
        return self.peek(1) == "(" and self._after_bracket(self._at + 1) in _SETS

    def _after_bracket(self, opening: int) -> str:
        """The token behind the bracket that opens at a position; empty where none closes it, or none follows."""
        after = self._closing.get(opening, len(self._tokens)) + 1
        return self._tokens[after] if after < len(self._tokens) else ""


def _closing(tokens: list[str]) -> dict[int, int]:
    """The position of each bracket that opens, with that of the one that closes it."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, each in enumerate(tokens):
        if each == "(":
            opened.append(at)
        elif each == ")" and opened:
            found[opened.pop()] = at
    return found


# ---- The parser: every operator in brackets, every name generated ----


Columns = dict[str, Type]
COLUMN = re.compile("[ck][0-9]{1,4}")
_CASTS = {"STRING": Type.TEXT, "INT": Type.INTEGER} | {
    each.value: each for each in (Type.INTEGER, Type.SUM, Type.DECIMAL, Type.DOUBLE, Type.DATE, Type.TIMESTAMP)
}
_CONSTANTS = {"NULL": Value("NULL", Type.NULL), "''": Value("''", Type.TEXT)} | {
    name: Value(name, Type.BOOLEAN) for name in ("True", "False")
}
_POINTS = {"DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP}
_POINT = re.compile(r"'[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6})?'")
_UNIT = re.compile("'(?:second|minute|hour|day|week|month|quarter|year)'")
_SENTENCE = re.compile("'[a-z ]{1,100}'")
_WHOLE = re.compile("[0-9]{1,18}")
_EXACT = re.compile(r"'-?[0-9]{1,38}(?:\.[0-9]{1,38})?'")
_WIDE = re.compile(r"DECIMAL\(38,(?:[12]?[0-9]|3[0-8])\)")


class Expressions(Tokens):
    """Reads values; `inner` reads the queries inside them."""

    def __init__(self, text: str, texts: int) -> None:
        super().__init__(text)
        self.tables: dict[str, Columns] = {}
        """The columns of each table, by its alias."""
        self.bound: set[str] = set()
        self._texts = texts

    def inner(self) -> tuple[str, Columns]:
        """A query in brackets."""
        raise NotImplementedError

    def condition(self) -> str:
        """Conditions joined by AND."""
        found = [self.value().text]
        while self.follow("AND"):
            found.append(self.value().text)
        return " AND ".join(found)

    def order(self) -> str:
        """An ORDER BY clause; empty if there is none."""
        return f"ORDER BY {self.each(self._key)}" if self.follow("ORDER", "BY") else ""

    def _key(self) -> str:
        value, way, _ = self.value(), self.take("ASC", "DESC"), self.take("NULLS")
        return f"{value.text} {way} NULLS {self.take('FIRST', 'LAST')}"

    def value(self) -> Value:
        """One expression."""
        if self.holds_query():
            text, columns = self.inner()
            return Value(text, next(iter(columns.values())))
        word = self.take()
        if word in _FORMS:
            return _FORMS[word](self)
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        return self._point(word) or self._number(word) or self._named(word)

    def _point(self, word: str) -> Value | None:
        """A constant point in time."""
        return Value(f"{word} {self.match(_POINT)}", _POINTS[word]) if word in _POINTS else None

    def _number(self, word: str) -> Value | None:
        """A constant number."""
        if word == "-":
            return Value(f"-{self.match(_WHOLE)}", Type.INTEGER)
        return literal(word) if word[:1].isdigit() or (word[:1] == "." and len(word) > 1) else None

    def _named(self, word: str) -> Value:
        """A parameter, a function or a column."""
        if word.startswith(":"):
            return self._parameter(word[1:])
        return self._call(word) if self.peek() == "(" else self._name(word)

    def _parameter(self, name: str) -> Value:
        if name != "now" and int(name[1:]) >= self._texts:
            raise refuse(f"the text {name}")
        self.bound.add(name)
        return Value(f"${name}", Type.TEXT)

    def _name(self, token: str) -> Value:
        if self.follow("."):
            name = self.match(COLUMN)
            found, text = self.tables.get(token, {}).get(name), f"{token}.{name}"
        else:
            found, text = next((each[token] for each in reversed(self.tables.values()) if token in each), None), token
        if found is None:
            raise refuse(f"the column {text[:20]!r}")
        return Value(text, found)

    def brackets(self) -> Value:
        """An operator between values, or a value in brackets."""
        if self.follow("-"):
            found = negated(self.value())
        elif self.follow("NOT"):
            found = Value(f"(NOT {self.value().text})", Type.BOOLEAN)
        elif self.follow("EXISTS"):
            found = Value(f"(EXISTS {self.inner()[0]})", Type.BOOLEAN)
        else:
            found = self.value()
            while self.peek() != ")":
                found = self._operated(found)
        self.take(")")
        return found

    def _operated(self, left: Value) -> Value:
        sign = self.take()
        if sign == "IS":
            word = "IS NOT NULL" if self.follow("NOT") else "IS NULL"
            self.take("NULL")
            return Value(f"({left.text} {word})", Type.BOOLEAN)
        if sign == "IN":
            return Value(f"({left.text} IN {self._members()})", Type.BOOLEAN)
        if sign == "BETWEEN":
            low, _ = self.value(), self.take("AND")
            return Value(f"({left.text} BETWEEN {low.text} AND {self.value().text})", Type.BOOLEAN)
        return binary(sign, left, self.value())

    def _members(self) -> str:
        if self.holds_query():
            return self.inner()[0]
        self.take("(")
        listed = self.each(lambda: self.value().text)
        self.take(")")
        return f"({listed})"

    def case(self) -> Value:
        """A choice."""
        text, values = "(CASE", list[Value]()
        while self.follow("WHEN"):
            text += f" WHEN {self.value().text}"
            self.take("THEN")
            values.append(self.value())
            text += f" THEN {values[-1].text}"
        if self.follow("ELSE"):
            values.append(self.value())
            text += f" ELSE {values[-1].text}"
        self.take("END")
        return Value(f"{text} END)", common(*values))

    def cast(self, turn: Callable[[Value, Type], Value]) -> Value:
        """A cast of either kind."""
        self.take("(")
        if turn is cast and _EXACT.fullmatch(self.peek()):
            return self._wide()
        value, _, name = self.value(), self.take("AS"), self.take()
        if name == "DECIMAL":
            name += "".join(self.take() for _ in range(5))
        self.take(")")
        if name not in _CASTS:
            raise refuse(f"a cast to {name[:20]!r}")
        if value.text == "$now":
            return Value("CAST(CAST($now AS TIMESTAMPTZ) AS TIMESTAMP)", Type.TIMESTAMP)
        return turn(value, _CASTS[name])

    def _wide(self) -> Value:
        """A constant decimal of another scale, after the bracket of its cast."""
        constant, _, name = self.take(), self.take("AS"), "".join(self.take() for _ in range(6))
        self.take(")")
        if not _WIDE.fullmatch(name):
            raise refuse(f"a cast of a constant to {name[:20]!r}")
        return Value(f"CAST({constant} AS {name})", Type.WIDE)

    def error(self) -> Value:
        """An error that ends a query without an answer."""
        self.take("(")
        sentence = self.match(_SENTENCE)
        self.take(")")
        return Value(f"error({sentence})", Type.NULL)

    def truncated(self) -> Value:
        """A moment cut at a unit."""
        self.take("(")
        unit, _, value, _ = self.match(_UNIT), self.take(","), self.value(), self.take(")")
        return Value(f"date_trunc({unit}, {value.text})", Type.TIMESTAMP)

    def seconds(self) -> Value:
        """The seconds of a moment with their fraction."""
        self.take("(")
        self.take("SECOND")
        self.take("FROM")
        value, _ = self.value(), self.take(")")
        return Value(f"(microsecond({value.text}) / CAST('1000000.0' AS DOUBLE))", Type.DOUBLE)

    def disc(self) -> Value:
        """A percentile that is one of the values."""
        self.take("(")
        share = self.value()
        for word in (")", "WITHIN", "GROUP", "(", "ORDER", "BY"):
            self.take(word)
        value, _ = self.value(), self.take(")")
        return Value(f"quantile_disc({value.text}, {share.text})", value.type)

    def _call(self, name: str) -> Value:
        self.take("(")
        word = "DISTINCT " if name in AGGREGATES and self.follow("DISTINCT") else ""
        given: list[Value] = []
        while self.peek() != ")":
            given.append(self.value())
            if self.peek() != ")":
                self.take(",")
        self.take(")")
        if name in AGGREGATES and AGGREGATES[name][0] == len(given):
            return self._aggregated(AGGREGATES[name][1](word, *given))
        return called(name, given)

    def _aggregated(self, found: AggregateFunction) -> Value:
        text = found.text
        if self.follow("FILTER", "(", "WHERE"):
            text += f" FILTER (WHERE {self.value().text})"
            self.take(")")
        if self.follow("OVER", "("):
            text += f" OVER ({self._window()})"
            self.take(")")
        return Value(found.around.format(text), found.type)

    def _window(self) -> str:
        parts = []
        if self.follow("PARTITION", "BY"):
            parts.append(f"PARTITION BY {self.each(lambda: self.value().text)}")
        parts.append(self.order())
        if self.follow("ROWS", "BETWEEN"):
            start, _, end = self._side(), self.take("AND"), self._side()
            parts.append(f"ROWS BETWEEN {start} AND {end}")
        return " ".join(filter(None, parts))

    def _side(self) -> str:
        if self.follow("CURRENT", "ROW"):
            return "CURRENT ROW"
        count = "UNBOUNDED" if self.follow("UNBOUNDED") else self.match(_WHOLE)
        return f"{count} {self.take('PRECEDING', 'FOLLOWING')}"


_FORMS: dict[str, Callable[[Expressions], Value]] = {
    "(": Expressions.brackets,
    "CASE": Expressions.case,
    "CAST": lambda reader: reader.cast(cast),
    "try_cast": lambda reader: reader.cast(try_cast),
    "raise_error": Expressions.error,
    "date_trunc": Expressions.truncated,
    "extract": Expressions.seconds,
    "percentile_disc": Expressions.disc,
}


# ---- From Spark's SQL to DuckDB's ----
# Every form is in a table and every name is a generated one; anything else is refused. Types are inferred from the columns of
# the relations to the answer, because the two engines treat some of them differently.


_ALIAS = re.compile("q[0-9]{1,4}")
_COUNT = re.compile("[0-9]{1,18}")
_SIDES = ("LEFT", "RIGHT", "FULL", "CROSS")


@dataclass(frozen=True, slots=True)
class DuckDbQuery:
    """A query in DuckDB's SQL."""

    text: str
    bound: frozenset[str]
    """Names of the values that are bound to it: `now`, `t0`, …"""
    kind: Type
    """Of its first column."""


def to_duckdb(query: Query) -> DuckDbQuery:
    """A query of a plan in DuckDB's SQL; UnreadError if `lakegate.sql` does not generate such a text."""
    reader = _Reader(query)
    try:
        text, columns = reader.query()
    except RecursionError:
        raise refuse("a query of so many levels") from None
    reader.take("")
    return DuckDbQuery(text, frozenset(reader.bound), next(iter(columns.values())))


class _Reader(Expressions):
    """One pass over the text of a query."""

    def __init__(self, query: Query) -> None:
        super().__init__(query.text, len(query.texts))
        self._queries: dict[str, Columns] = {
            f"r{number}": {f"c{at}": type_of(each) for at, each in enumerate(relation.columns)}
            for number, relation in enumerate(query.relations)
        }

    def query(self) -> tuple[str, Columns]:
        """A SELECT or a set operation, after the queries that a WITH names."""
        words = f"WITH {self.each(self._named_query)} " if self.follow("WITH") else ""
        text, columns = self._together() if self.peek() == "(" else self._select()
        return words + text, columns

    def inner(self) -> tuple[str, Columns]:
        """A query in brackets."""
        self.take("(")
        text, columns = self.query()
        self.take(")")
        return f"({text})", columns

    def _named_query(self) -> str:
        name, _ = self.match(_ALIAS), self.take("AS")
        text, self._queries[name] = self.inner()
        return f"{name} AS {text}"

    def _together(self) -> tuple[str, Columns]:
        left, columns = self.inner()
        word = self.take("UNION", "INTERSECT", "EXCEPT") + (" ALL" if self.follow("ALL") else "")
        right, others = self.inner()
        if columns.keys() != others.keys():
            raise refuse("queries of other columns put together")
        types = {name: common(Value("", columns[name]), Value("", others[name])) for name in columns}
        return f"{left} {word} {right}", types

    def _select(self) -> tuple[str, Columns]:
        self.take("SELECT")
        distinct = "DISTINCT " if self.follow("DISTINCT") else ""
        start = self.place
        self._skip_columns()
        tables = f" FROM {self._from()}" if self.follow("FROM") else ""
        after = self.place
        self.back(start)
        columns: Columns = {}
        parts = [f"SELECT {distinct}{self.each(lambda: self._column(columns))}{tables}"]
        if self.peek() not in {"FROM", ")", ""}:
            raise refuse(repr(self.peek()[:20]))
        self.back(after)
        if self.follow("WHERE"):
            parts.append(f"WHERE {self.condition()}")
        if self.follow("GROUP", "BY"):
            parts.append(f"GROUP BY {self.each(lambda: self.value().text)}")
        if self.follow("HAVING"):
            parts.append(f"HAVING {self.condition()}")
        parts.append(self.order())
        if self.follow("LIMIT"):
            parts.append(f"LIMIT {int(self.match(_COUNT))}")
        return " ".join(filter(None, parts)), columns

    def _skip_columns(self) -> None:
        """Skip to the FROM of the SELECT: its tables are read before the columns."""
        depth = 0
        while (token := self.peek()) and (depth or token not in {"FROM", ")"}):
            depth += {"(": 1, ")": -1}.get(token, 0)
            self.take()

    def _column(self, columns: Columns) -> str:
        name, value = self.peek(), self.value()
        if self.follow("AS"):
            name = self.match(COLUMN)
            columns[name] = value.type
            return f"{value.text} AS {name}"
        columns[name if COLUMN.fullmatch(name) else f"?{len(columns)}"] = value.type
        return value.text

    def _from(self) -> str:
        text = self._table()
        while self.peek() == "JOIN" or self.peek() in _SIDES:
            side = f"{self.take()} " if self.peek() in _SIDES else ""
            self.take("JOIN")
            text = f"{text} {side}JOIN {self._table()}"
            if side != "CROSS ":
                self.take("ON")
                text = f"{text} ON {self.condition()}"
        return text

    def _table(self) -> str:
        if self.peek() == "(":
            text, columns = self.inner()
        else:
            text = self.take()
            if text not in self._queries:
                raise refuse(f"the table {text[:20]!r}")
            columns = self._queries[text]
        alias = self.match(_ALIAS) if self.follow("AS") else text
        self.tables[alias] = columns
        return text if alias == text else f"{text} AS {alias}"

"""Expressions of a query: every operator is in brackets, every name is generated, every function is in a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.engine.query.casts import cast, try_cast
from lakegate.engine.query.duckdb_functions import AGGREGATES, AggregateFunction, called
from lakegate.engine.query.operators import binary, literal, negated
from lakegate.engine.query.tokens import Tokens
from lakegate.engine.query.value import Type, Value, common, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

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
        value, _, name = self.value(), self.take("AS"), self.take()
        if name == "DECIMAL":
            name += "".join(self.take() for _ in range(5))
        self.take(")")
        if name not in _CASTS:
            raise refuse(f"a cast to {name[:20]!r}")
        if value.text == "$now":
            return Value("CAST(CAST($now AS TIMESTAMPTZ) AS TIMESTAMP)", Type.TIMESTAMP)
        return turn(value, _CASTS[name])

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

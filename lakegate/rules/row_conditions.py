"""Conditions of rules in the syntax of other engines (`row_condition`, `filter`): a small language of comparisons.

::

    condition = part ("and" | "&") part …          also with "or" | "|", "not", and brackets
    part      = column                             of the type boolean
              | column operator value              ==  =  !=  <>  <  <=  >  >=
              | column "is" ["not"] "null"         column.isnull()  column.notnull()
              | column ["not"] "in" (value, …)     column ["not"] "between" value "and" value
    column    = name | `name` | col("name") | "name" (in SQL)
    value     = number | 'text' | "text" (not in SQL) | true | false

A row meets a condition where it surely holds: a null meets no comparison, as in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contract.contract_model import Field, Rule
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.predicates import All, Not, Predicate, Present
from lakegate.rules.check_builder import one_of, within

if TYPE_CHECKING:
    Leaf = Callable[[str, str, list[object]], Predicate]

LONGEST_CONDITION = 1000
"""The most characters of a condition."""
DEEPEST_CONDITION = 50
"""The most brackets and negations around a part."""
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![A-Za-z0-9_])
    |(?P<single>'(?:[^'\\]|'')*')|(?P<double>"[^"\\]*")|`(?P<ticked>[^`]+)`
    |\bcol\(\s*(?:"(?P<col>[^"]+)"|'(?P<col2>[^']+)')\s*\)
    |(?P<call>\.(?:isnull|notnull|notNull|is_null|is_not_null)\(\))
    |(?P<word>[^\W0-9]\w*)|(?P<sign><=|>=|<>|!=|==|&&?|\|\|?|[=<>(),\[\]~])|(?P<end>\Z))""",
    re.VERBOSE,
)

_WORDS = {"and", "or", "not", "is", "null", "in", "between", "true", "false"}
_AND, _OR, _NOT = {"and", "&", "&&"}, {"or", "|", "||"}, {"not", "~"}
_TRUTH = {"true": True, "false": False}
_NULLS = {
    ".isnull()": "null",
    ".is_null()": "null",
    **dict.fromkeys((".notnull()", ".notNull()", ".is_not_null()"), "there"),
}
"""Calls on a column, with their predicates."""
_CLOSING = {"(": ")", "[": "]"}
_AFTER_PART = {*_AND, *_OR, ")"}


class UnreadConditionError(Exception):
    """The condition is not part of this language; the rule is then skipped."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a condition."""

    kind: str
    """`column`, `value`, `call`, `sign` (including keywords) or `end`."""
    text: str


def columns_of(text: str, *, is_sql: bool) -> tuple[str, ...]:
    """The columns of a condition; empty if it cannot be read."""
    try:
        return _columns(text, is_sql=is_sql)
    except UnreadConditionError:
        return ()


def condition_of(rule: Rule, text: str, fields: Mapping[str, Field], *, is_sql: bool) -> Predicate:
    """The condition as a predicate over `fields`; UnreadConditionError if it cannot be read.

    `fields` contain all columns of a condition that can be read, so that nothing is looked up before the end was read.
    """
    _columns(text, is_sql=is_sql)
    return _read(text, lambda column, sign, values: _LEAVES[sign](rule, fields[column], values), is_sql=is_sql)


def _columns(text: str, *, is_sql: bool) -> tuple[str, ...]:
    named: list[str] = []

    def leaf(column: str, _sign: str, _values: list[object]) -> Predicate:
        named.append(column)
        return Present(column)

    _read(text, leaf, is_sql=is_sql)
    return tuple(dict.fromkeys(named))


def _read(text: str, leaf: Leaf, *, is_sql: bool) -> Predicate:
    reader = _Reader(list(_tokens(text, is_sql=is_sql)), leaf)
    predicate = reader.alternatives()
    if reader.take().kind != "end":
        raise UnreadConditionError
    return predicate


def _tokens(text: str, *, is_sql: bool) -> Iterator[Token]:
    at = 0
    if len(text) > LONGEST_CONDITION:
        raise UnreadConditionError
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnreadConditionError
        at, kind = match.end(), str(match.lastgroup)
        yield _token(kind, match[kind], is_sql=is_sql)
        if kind == "end":
            return


def _token(kind: str, text: str, *, is_sql: bool) -> Token:
    if kind == "word" and text.lower() in _WORDS:
        return Token("sign", text.lower())
    if kind in {"word", "ticked", "col", "col2"} or (kind == "double" and is_sql):
        return Token("column", text.strip('"') if kind == "double" else text)
    if kind in {"single", "double"}:
        return Token("value", text[1:-1].replace("''", "'"))
    return Token({"number": "value"}.get(kind, kind), text)


@dataclass(slots=True)
class _Reader:
    """A recursive descent parser; each method consumes the tokens it reads."""

    tokens: list[Token]
    leaf: Leaf
    depth: int = 0

    def take(self) -> Token:
        """The next token; the end is never consumed."""
        return self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]

    def takes(self, *texts: str) -> bool:
        """Whether the next sign is one of these; if so, it is consumed."""
        token = self.tokens[0]
        is_next = token.kind == "sign" and token.text in texts
        if is_next:
            self.take()
        return is_next

    def expect(self, text: str) -> None:
        if not self.takes(text):
            raise UnreadConditionError

    def alternatives(self) -> Predicate:
        parts = self.several(self.together, _OR)
        return parts[0] if len(parts) == 1 else Not(All(tuple(map(Not, parts))))

    def together(self) -> Predicate:
        parts = self.several(self.part, _AND)
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def several(self, read: Callable[[], Predicate], between: set[str]) -> list[Predicate]:
        parts = [read()]
        while self.takes(*between):
            parts.append(read())
        return parts

    def part(self) -> Predicate:
        self.depth += 1
        if self.depth > DEEPEST_CONDITION:
            raise UnreadConditionError
        predicate = self.inner()
        self.depth -= 1
        return predicate

    def inner(self) -> Predicate:
        if self.takes(*_NOT):
            return Not(self.part())
        if self.takes("("):
            predicate = self.alternatives()
            self.expect(")")
            return predicate
        return self.comparison(self.column())

    def column(self) -> str:
        token = self.take()
        if token.kind != "column":
            raise UnreadConditionError
        return token.text

    def comparison(self, column: str) -> Predicate:
        if self.tokens[0].kind == "call":
            return self.leaf(column, _NULLS[self.take().text], [])
        if self.takes("is"):
            sign = "there" if self.takes("not") else "null"
            self.expect("null")
            return self.leaf(column, sign, [])
        if self.tokens[0].kind == "end" or self.tokens[0].text in _AFTER_PART:
            return self.leaf(column, "true", [])
        is_turned = self.takes("not")
        for word, read in (("in", self.listed), ("between", self.ends)):
            if self.takes(word):
                predicate = self.leaf(column, word, read())
                return Not(predicate) if is_turned else predicate
        sign = self.take().text
        if sign not in _COMPARISONS or is_turned:
            raise UnreadConditionError
        return self.leaf(column, sign, [self.value()])

    def listed(self) -> list[object]:
        closing = _CLOSING.get(self.take().text)
        values = [self.value()]
        while self.takes(","):
            values.append(self.value())
        if closing is None or not self.takes(closing):
            raise UnreadConditionError
        return values

    def ends(self) -> list[object]:
        low = self.value()
        self.expect("and")
        return [low, self.value()]

    def value(self) -> object:
        token = self.take()
        if token.kind == "sign" and token.text in _TRUTH:
            return _TRUTH[token.text]
        if token.kind != "value":
            raise UnreadConditionError
        return token.text


def _equal(rule: Rule, field: Field, values: list[object]) -> Predicate:
    return one_of(rule, field, values)


def _true(rule: Rule, field: Field, _values: list[object]) -> Predicate:
    """A column alone is a condition if its values are."""
    if field.type is not LogicalType.BOOLEAN:
        raise UnreadConditionError
    return one_of(rule, field, [True])


def _other(rule: Rule, field: Field, values: list[object]) -> Predicate:
    return Not(one_of(rule, field, values))


_COMPARISONS: dict[str, Callable[[Rule, Field, list[object]], Predicate]] = {
    **dict.fromkeys(("=", "=="), _equal),
    **dict.fromkeys(("!=", "<>"), _other),
    "<": lambda rule, field, values: within(rule, field, high=values[0], high_open=True),
    "<=": lambda rule, field, values: within(rule, field, high=values[0]),
    ">": lambda rule, field, values: within(rule, field, low=values[0], low_open=True),
    ">=": lambda rule, field, values: within(rule, field, low=values[0]),
}

_LEAVES: dict[str, Callable[[Rule, Field, list[object]], Predicate]] = {
    **_COMPARISONS,
    "true": _true,
    "in": _equal,
    "between": lambda rule, field, values: within(rule, field, *values),
    "there": lambda _rule, field, _values: Present(field.name),
    "null": lambda _rule, field, _values: Not(Present(field.name)),
}
"""The predicate of a part of a condition."""

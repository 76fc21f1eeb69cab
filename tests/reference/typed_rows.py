"""Contracts and deliveries with every type, and the values of their rows, by the grammar of `tests.reference.lexical` alone.

A value that is not of its type is null; moments are whole microseconds and days are days since 1970, times of day texts.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from lakegate.contract.logical_types import LogicalType
from tests.reference.lexical import days, parse
from tests.reference.strategies import texts

RECORD, LIST, MAP = "record", "array", "map"
NAMES: Final = ("a", "b.c", "d e", "é", "f[0]", 'g"h', "I", "key", "value", "element")
WORDS: Final = {
    LogicalType.STRING: "string",
    LogicalType.INTEGER: "long",
    LogicalType.NUMBER: "double",
    LogicalType.DECIMAL: "decimal",
    LogicalType.BOOLEAN: "boolean",
    LogicalType.DATE: "date",
    LogicalType.TIME: "time",
    LogicalType.TIMESTAMP: "timestamp",
    LogicalType.BINARY: "bytes",
}
"""The types of DCS."""
MICROS: Final = 10**6


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of a column or a part consist of."""

    of: LogicalType | str
    """A type of plain values, or `RECORD`, `LIST`, `MAP`."""
    scale: int = 18
    """Of a decimal."""
    parts: tuple[tuple[str, Kind], ...] = ()
    """Members of a record; of a list its elements; of a map keys, then values."""

    @property
    def document(self) -> dict[str, Any]:
        """The field of a DCS contract."""
        match self.of, self.parts:
            case LogicalType.DECIMAL, _:
                digits = {} if self.scale == 18 else {"precision": 38, "scale": self.scale}
                return {"type": "decimal", **digits}
            case LogicalType(), _:
                return {"type": WORDS[self.of]}
            case "array", ((_, element),):
                return {"type": LIST, "items": element.document}
            case "map", ((_, key), (_, value)):
                return {"type": MAP, "keys": key.document, "values": value.document}
            case _:
                return {"type": RECORD, "fields": {name: kind.document for name, kind in self.parts}}


@dataclass(frozen=True, slots=True)
class Number:
    """A number of JSON, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The columns of a contract, and rows of texts or of JSON."""

    columns: dict[str, Kind]
    rows: Sequence[Any]

    def contract(self, form: str) -> bytes:
        """A contract in DCS that tolerates whatever is delivered."""
        fields = {name: kind.document for name, kind in self.columns.items()}
        model = {"config": {"lakegate": {"format": form, "mode": "observe"}}, "fields": fields}
        head = {"dataContractSpecification": "1.2.1", "id": "x", "info": {"title": "t", "version": "1.0.0"}}
        return json.dumps({**head, "models": {"m": model}}).encode()


# ---- Texts of types ----


_digits = st.text("0123456789", min_size=1, max_size=20)
_fractions = st.text("0123456789", max_size=9)
_days = st.dates().map(str) | st.sampled_from(("0000-01-01", "9999-12-31", "2020-02-30", "2020-1-1", "20200101"))
_moments = st.dates(date(2, 1, 1), date(9998, 12, 31)).map(str) | st.just("2020-02-30")
"""Days of which every hour, whatever its offset, is within the years that files with a schema may have."""
_clocks = st.one_of(
    st.times().map(str),
    st.builds("{:%H:%M:%S}.{}".format, st.times(), _fractions.filter(bool)),
    st.sampled_from(("00:00", "23:59:59.999999999", "24:00", "1:00")),
)
_offsets = st.sampled_from(("", "Z", "+02:00", "-18:00", "+05:45", "+19:00"))
_TEXTS: Final[dict[LogicalType, st.SearchStrategy[str]]] = {
    LogicalType.STRING: texts,
    LogicalType.INTEGER: st.integers(-(2**64), 2**64).map(str) | st.integers(-9, 9).map(str),
    LogicalType.NUMBER: st.floats(allow_nan=False, allow_infinity=False).map(repr) | _digits,
    LogicalType.DECIMAL: st.decimals(allow_nan=False, allow_infinity=False, places=18).map("{:f}".format)
    | st.builds("{}.{}".format, _digits, _digits),
    LogicalType.BOOLEAN: st.sampled_from(("true", "false", "TRUE", "False", "tRue", "1")),
    LogicalType.DATE: _days,
    LogicalType.TIME: _clocks,
    LogicalType.TIMESTAMP: st.builds("{}{}{}{}".format, _moments, st.sampled_from("T "), _clocks, _offsets),
    LogicalType.BINARY: texts,
}
plain = st.sampled_from(list(LogicalType)).flatmap(
    lambda of: st.builds(Kind, st.just(of), st.sampled_from((0, 18, 38)) if of is LogicalType.DECIMAL else st.just(18))
)


def _line(text: str) -> str:
    """A text that a file of CSV can hold in one line."""
    return text.replace("\n", " ").replace("\r", " ")


@st.composite
def of_csv(draw: st.DrawFn) -> Delivered:
    """Columns of plain values; each row has a number, so that none is blank."""
    columns = draw(st.dictionaries(st.sampled_from(NAMES), plain, min_size=1, max_size=5))
    cells = [st.one_of(_TEXTS[kind.of], _TEXTS[LogicalType.STRING]).map(_line) for kind in columns.values()]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    named = {"row": Kind(LogicalType.INTEGER), **columns}
    return Delivered(named, [(str(number), *row) for number, row in enumerate(rows)])


def as_csv(found: Delivered) -> bytes:
    """The rows as a file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(found.rows)
    return text.getvalue().encode()


def values_of_csv(found: Delivered) -> list[list[Any]]:
    """The values of each row; an empty text is null."""
    kinds = found.columns.values()
    return [[_value(kind, text or None) for kind, text in zip(kinds, row, strict=True)] for row in found.rows]


# ---- Nested values of JSON ----


def _inside(kinds: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    members = st.dictionaries(st.sampled_from(NAMES), kinds, min_size=1, max_size=3).map(
        lambda found: tuple(found.items())
    )
    keys = st.sampled_from((LogicalType.STRING, LogicalType.STRING, LogicalType.DATE)).map(Kind)
    return st.one_of(
        st.builds(lambda parts: Kind(RECORD, parts=parts), members),
        st.builds(lambda element: Kind(LIST, parts=(("element", element),)), kinds),
        st.builds(lambda key, value: Kind(MAP, parts=(("key", key), ("value", value))), keys, kinds),
    )


nested = st.recursive(plain, _inside, max_leaves=5)


def _tokens(kind: Kind) -> st.SearchStrategy[Any]:
    """Values of JSON that may be of a kind; a few are null or of another one."""
    other = st.sampled_from((None, None, None, "text", Number("7"), True, [], {}))
    match kind.of:
        case LogicalType.BOOLEAN:
            own: st.SearchStrategy[Any] = st.booleans()
        case LogicalType() as plain_kind if plain_kind.numeric:
            own = _TEXTS[plain_kind].map(lambda text: Number(_as_number(text)))
        case LogicalType() as plain_kind:
            own = _TEXTS[plain_kind]
        case "array":
            own = st.lists(_tokens(kind.parts[0][1]), max_size=3)
        case "map":
            keys = _TEXTS[LogicalType(kind.parts[0][1].of)]
            own = st.dictionaries(keys, _tokens(kind.parts[1][1]), max_size=3)
        case _:
            own = st.fixed_dictionaries({}, optional={name: _tokens(part) for name, part in kind.parts})
    return st.one_of(own, own, own, other)


def _as_number(text: str) -> str:
    """A number as JSON allows it: no zeros before others."""
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text)
    whole, point, rest = digits.partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{point}{rest}" if whole.isdigit() else text


@st.composite
def of_json(draw: st.DrawFn) -> Delivered:
    """Columns of any kind; each row has a number, because a file without a declared key is none of its contract."""
    columns = draw(st.dictionaries(st.sampled_from(NAMES), nested, min_size=1, max_size=4))
    row = st.fixed_dictionaries({}, optional={name: _tokens(kind) for name, kind in columns.items()})
    rows = draw(st.lists(row, min_size=1, max_size=5))
    named = {"row": Kind(LogicalType.INTEGER), **columns}
    return Delivered(named, [{"row": Number(str(number)), **each} for number, each in enumerate(rows)])


def as_json_lines(found: Delivered) -> bytes:
    """The rows as a file."""
    return "".join(f"{_written(row)}\n" for row in found.rows).encode()


def _written(value: Any) -> str:
    match value:
        case Number():
            return value.text
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case dict():
            return f"{{{', '.join(f'{json.dumps(key)}: {_written(each)}' for key, each in value.items())}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def values_of_json(found: Delivered) -> list[list[Any]]:
    """The values of each row: records as dictionaries, maps as pairs; an entry whose key is no value is none."""
    return [[_of_token(kind, row.get(name)) for name, kind in found.columns.items()] for row in found.rows]


def _of_token(kind: Kind, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
    match kind.of, value:
        case LogicalType.BOOLEAN, bool():
            return value
        case LogicalType() as plain_kind, Number() if plain_kind.numeric:
            return _value(kind, value.text)
        case LogicalType() as plain_kind, str() if not plain_kind.numeric and plain_kind is not LogicalType.BOOLEAN:
            return _value(kind, value)
        case "record", dict():
            return {name: _of_token(part, value.get(name)) for name, part in kind.parts}
        case "array", list():
            return [_of_token(kind.parts[0][1], each) for each in value]
        case "map", dict():
            (_, keys), (_, values) = kind.parts
            pairs = [(_of_token(keys, key), _of_token(values, each)) for key, each in value.items()]
            return [pair for pair in pairs if pair[0] is not None]
        case _:
            return None


def _value(kind: Kind, text: str | None) -> Any:
    assert isinstance(kind.of, LogicalType)
    found = parse(kind.of, text, kind.scale)
    if found is None:
        return None
    match kind.of:
        case LogicalType.DATE:
            return days(found)
        case LogicalType.TIME:
            seconds, micros = divmod(math.floor(found * MICROS), MICROS)
            return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"
        case LogicalType.BINARY:
            return str(text).encode()
        case LogicalType.DECIMAL:
            return Decimal(found)
        case _:
            return found

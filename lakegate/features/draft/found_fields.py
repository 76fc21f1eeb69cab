"""Fields found in a file, as a plan and as columns of a profile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.text import plural
from lakegate.contract.contract_model import Shape
from lakegate.contract.field_paths import path_of
from lakegate.contract.file_formats import Csv, Storage
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.engine.read.json_texts import MalformedError, NumberText, parse_object
from lakegate.engine.read.read_bounds import refuse_columns
from lakegate.engine.read.stored_types import LONG_DIGITS, TYPES, Kind, Physical
from lakegate.plan.plan import PlanField

# ---- What is known before there is a contract ----


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way to write values of a type that is not the one of the written grammar; all texts of a column have it."""

    type: LogicalType
    code: str
    """The mistake that `check` would name (`lakegate.verdict.value_mistakes`)."""
    format: str | None = None
    """Of dates and times, the format that a contract can declare; None where more than one fits."""
    separators: str = ""
    """Of numbers, the decimal separator and after it that of thousands, where a contract can declare them."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column that are present."""

    distinct: int = 0
    """Their number; an estimate, unless the column is in `Profile.unique` or `words` has them."""
    low: str | None = None
    """The smallest value, as text: by the column's type, of strings by their bytes. None of types without an order."""
    high: str | None = None
    shortest: int = 0
    """Characters of the shortest one."""
    longest: int = 0
    shapes: tuple[tuple[str, int], ...] = ()
    """Shapes (`A` a capital, `a` a small letter, `9` a digit, other characters as they are) with their numbers of values: all of
    them, or none where they are too many."""
    words: tuple[tuple[str, int], ...] = ()
    """All distinct values with their numbers, where they are few; else none."""
    forms: tuple[tuple[str, int], ...] = ()
    """Forms of personal data (`lakegate.features.draft.suggestions.FORMS`), each with the number of values that have it."""
    codes: tuple[tuple[str, int], ...] = ()
    """Forms of codes (`lakegate.features.draft.suggestions.CODES`), each with the number of values that have it."""
    almost: tuple[LogicalType, int] | None = None
    """Of strings: the type that most of them are values of, and how many are."""
    spelling: Spelling | None = None
    """Of strings: the type that they are values of in another spelling."""
    almost_spelled: tuple[Spelling, int] | None = None
    """Of strings: the type that most of them are values of in another spelling, and how many are."""

    def meaning(self, kind: LogicalType) -> LogicalType:
        """The type that all or most values are of, in whichever spelling, of a column of a type."""
        return self.almost[0] if self.almost else self.spelling.type if self.spelling else kind


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """One column, or a nested field."""

    name: str
    """Its own name; of the items of a list, and of keys and values of a map, `[]`, `key` and `value`."""
    type: LogicalType
    shape: Shape = Shape.VALUE
    """ANY: its values are of several kinds."""
    is_certain: bool = False
    """Whether the file itself declares the type."""
    physical: str | None = None
    """The physical type of an exact number: `decimal(10,2)`."""
    rows: int = 0
    """Rows, elements or records around it that could have a value."""
    present: int = 0
    values: Values = field(default_factory=Values)
    parts: tuple[ProfiledColumn, ...] = ()
    others: str = ""
    """In words, the numbers of values by kind, where some are not of the main one; empty where all are."""
    strays: int = 0
    """Values of other kinds than the main one."""
    is_required: bool = False
    """Whether a table declares that it always has a value."""
    description: str = ""
    """That of a table; empty where there is none."""

    @property
    def meaning(self) -> LogicalType:
        """The type of its values, in whichever spelling."""
        return self.values.meaning(self.type)

    @property
    def is_other_text(self) -> bool:
        """Whether a contract can describe it as text alone, although all or most values are of another type."""
        is_other = self.meaning is not self.type and not (self.values.spelling and self.values.spelling.format)
        return is_other or self.values.almost_spelled is not None

    def inner(self) -> Iterator[ProfiledColumn]:
        """The column and all nested ones."""
        yield self
        for part in self.parts:
            yield from part.inner()


@dataclass(frozen=True, slots=True)
class Profile:
    """The content of a delivery."""

    storage: Storage
    csv: Csv
    rows: int
    files: int
    columns: tuple[ProfiledColumn, ...]
    unique: tuple[str, ...] = ()
    """Columns that have a value in each row, and none twice."""
    rising: tuple[str, ...] = ()
    """Those of whole numbers that count the rows, with few left out."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of columns that are unique together, the likeliest key first; looked for where no unique column may be a key."""
    malformed: int = 0
    """Records that cannot be read."""
    without_record: int = 0
    """Rows that hold no record (no value, or totals): they are none of `rows`, and nothing is known of them."""
    has_dated_names: bool = False
    """Whether each file has a date in its name."""
    description: str = ""
    """That of a table; empty where there is none."""


# ---- Fields of a file ----


MAX_MEMBERS = 200
"""Keys of an object in JSON beyond which it is a map, if most of its records lack most of them."""
SPARSE = 0.2
SHAPES = {Kind.RECORD: Shape.RECORD, Kind.LIST: Shape.LIST, Kind.MAP: Shape.MAP}
_WHOLE = re.compile(GRAMMARS[LogicalType.INTEGER].pattern or "")


@dataclass(frozen=True, slots=True)
class FoundField:
    """A field of a file."""

    name: str
    type: LogicalType
    shape: Shape = Shape.VALUE
    is_certain: bool = False
    physical: str | None = None
    parts: tuple[FoundField, ...] = ()
    others: str = ""
    """As in `ProfiledColumn`."""
    strays: int = 0
    """As in `ProfiledColumn`."""


def planned(fields: Iterable[FoundField]) -> dict[tuple[str, ...], PlanField]:
    """The fields of a plan by their places; columns first."""
    columns = [((f".{entry.name}",), entry) for entry in fields]
    inner = [found for place, column in columns for found in _inner(place, column)]
    return {
        place: PlanField(path_of(place), f"c{at}", entry.type, None, entry.shape, place)
        for at, (place, entry) in enumerate([*columns, *inner])
    }


def step_of(part: FoundField, parent: FoundField) -> str:
    """The step from a field to one of its parts."""
    if parent.shape is Shape.RECORD:
        return f".{part.name}"
    return part.name if parent.shape is Shape.LIST else f"{{{part.name}}}"


def _inner(place: tuple[str, ...], entry: FoundField) -> Iterator[tuple[tuple[str, ...], FoundField]]:
    for part in entry.parts:
        inner = (*place, step_of(part, entry))
        yield inner, part
        yield from _inner(inner, part)


def of_physical(name: str, physical: Physical) -> FoundField:
    """A column of a file that has a schema of its own."""
    if physical.kind in SHAPES:
        names = [("[]" if step == "[]" else step.strip("{}"), part) for step, part in physical.parts]
        if physical.kind is Kind.RECORD:
            names = list(physical.parts)
        parts = tuple(of_physical(*entry) for entry in names)
        return FoundField(name, LogicalType.STRING, SHAPES[physical.kind], is_certain=True, parts=parts)
    if physical.kind is Kind.EXACT:
        digits, scale = physical.digits
        if scale == 0 and digits <= LONG_DIGITS:
            return FoundField(name, LogicalType.INTEGER, is_certain=True)
        return FoundField(name, LogicalType.DECIMAL, is_certain=True, physical=f"decimal({digits},{scale})")
    if physical.kind is Kind.OTHER:
        return FoundField(name, LogicalType.STRING, Shape.ANY)
    is_known = physical.kind is not Kind.NOTHING
    return FoundField(name, TYPES.get(physical.kind, LogicalType.STRING), is_certain=is_known)


@dataclass(slots=True)
class JsonTokens:
    """The tokens that one place of JSON records has."""

    kinds: Counter[str] = field(default_factory=Counter)
    members: dict[str, JsonTokens] = field(default_factory=dict)
    items: JsonTokens | None = None
    all_whole: bool = True

    def add(self, value: object) -> None:
        """One value."""
        match value:
            case None:
                return
            case NumberText():
                self.kinds["number"] += 1
                self.all_whole = self.all_whole and (
                    _WHOLE.fullmatch(value) is not None and -(2**63) <= int(value) < 2**63
                )
            case bool():
                self.kinds["boolean"] += 1
            case dict():
                self.kinds["object"] += 1
                for key, entry in value.items():
                    self.members.setdefault(key, JsonTokens()).add(entry)
            case list():
                self.kinds["array"] += 1
                self.items = self.items or JsonTokens()
                for item in value:
                    self.items.add(item)
            case _:
                self.kinds["string"] += 1

    def count(self) -> int:
        """Places at and below this one."""
        return 1 + sum(member.count() for member in self.members.values()) + (self.items.count() if self.items else 0)


def of_json(batches: Iterable[list[bytes]]) -> tuple[FoundField, ...]:
    """The fields of all records; UnreadableError if there are too many, or none.

    Where no record can be read there is one of no meaning: the judgement of the file has the reason.
    """
    top, is_malformed = JsonTokens(), False
    for texts in batches:
        for text in texts:
            try:
                top.add(parse_object(text))
            except MalformedError:
                is_malformed = True
        refuse_columns(top.count())
    if is_malformed and not top.kinds:
        return (FoundField("value", LogicalType.STRING),)
    if not top.members:
        raise UnreadableError("header", "the file has no record with a value: draft from a file with data")
    return tuple(_of_tokens(key, member) for key, member in top.members.items())


MAIN = 0.5
"""The share of the values above which their commonest kind is the one that is meant."""


def _of_tokens(name: str, tokens: JsonTokens) -> FoundField:
    """The field of a place: of its main kind, if most values are of it; the others are named, and fail the check of its type."""
    found = _of_main_kind(name, tokens)
    return found if not found.others else replace(found, strays=tokens.kinds.total() - max(tokens.kinds.values()))


def _of_main_kind(name: str, tokens: JsonTokens) -> FoundField:
    if not tokens.kinds:
        return FoundField(name, LogicalType.STRING)
    (kind, count), *rest = tokens.kinds.most_common()
    others = " and ".join(plural(values, word) for word, values in tokens.kinds.most_common()) if rest else ""
    others = others and f"its values are of several kinds ({others})"
    if count <= MAIN * tokens.kinds.total():
        return FoundField(name, LogicalType.STRING, Shape.ANY, others=others)
    if kind == "object":
        shape, parts = _of_members(tokens)
        return FoundField(name, LogicalType.STRING, shape, parts=parts, others=others)
    if kind == "array":
        items = _of_tokens("[]", tokens.items or JsonTokens())
        return FoundField(name, LogicalType.STRING, Shape.LIST, parts=(items,), others=others)
    whole = kind == "number" and tokens.all_whole
    return FoundField(name, LogicalType.INTEGER if whole else LogicalType(kind), others=others)


def _of_members(tokens: JsonTokens) -> tuple[Shape, tuple[FoundField, ...]]:
    """An object as a record, or as a map of one kind of values."""
    if not _is_map(tokens):
        return Shape.RECORD, tuple(_of_tokens(*entry) for entry in tokens.members.items())
    values = JsonTokens()
    for member in tokens.members.values():
        _merge(values, member)
    return Shape.MAP, (FoundField("key", LogicalType.STRING), _of_tokens("value", values))


def _is_map(tokens: JsonTokens) -> bool:
    """Whether an object has so many different keys, most of them absent, that they are data."""
    used = sum(sum(member.kinds.values()) for member in tokens.members.values())
    keys = len(tokens.members)
    return keys > MAX_MEMBERS and used < SPARSE * keys * tokens.kinds["object"]


def _merge(into: JsonTokens, tokens: JsonTokens) -> None:
    into.kinds += tokens.kinds
    into.all_whole = into.all_whole and tokens.all_whole
    for key, member in tokens.members.items():
        _merge(into.members.setdefault(key, JsonTokens()), member)
    if tokens.items is not None:
        into.items = into.items or JsonTokens()
        _merge(into.items, tokens.items)

"""The names and types of a system in CREATE TABLE: every name is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lakegate.contract.contract_model import Field, Shape, shape_of
from lakegate.contract.documents.declared_types import DeclaredType, declared_type, express, is_usual, lost_type
from lakegate.contract.documents.imported_schema import ExpressedRequirements, part
from lakegate.contract.logical_types import LogicalType

LONGEST_TYPE = 500
_OWN_TYPE = re.compile(
    r"[a-z][a-z0-9_]*(?: precision| varying)?(?P<parts>[(<][\w ,:<>()]*[)>])?(?: with(?:out)?(?: local)? time zone)?",
    re.IGNORECASE | re.ASCII,
)


def _is_closed(parts: str) -> bool:
    """Whether the first bracket is closed by the last one, and all others in between."""
    opened: list[str] = []
    for at, entry in enumerate(parts):
        if entry in _BRACKETS:
            opened.append(_BRACKETS[entry])
        elif entry in _BRACKETS.values() and (opened.pop() != entry or (not opened and at < len(parts) - 1)):
            return False
    return not opened


_BRACKETS = {"(": ")", "<": ">"}


@dataclass(frozen=True, slots=True)
class DdlDialect:
    """The names and types of a system."""

    quote: str
    types: Mapping[LogicalType, str]
    """Templates: a decimal contains its scale."""
    text: str
    list_of: str
    map_of: str
    record_of: str
    member: str
    """A name and a type."""
    native: str = ""
    """The key of a field's own type in this system."""
    is_escaped: bool = False
    """Whether a backslash in a name escapes the next character."""
    comment: str = ""
    """The template of a description behind a column; empty where columns have none there."""
    has_comments: bool = False
    """Whether statements of their own (`COMMENT ON`) describe columns and tables."""
    escape: str = ""
    """What a backslash in a text is doubled by, and a quote begins with; empty where a quote is doubled."""
    digits: str = ""
    """The template of a decimal with a precision and a scale; empty: of a decimal only the scale is written."""
    small_digits: str = ""
    """The same of decimals with at most 29 digits before the point and 9 after it."""
    moments: Mapping[bool, str] = field(default_factory=dict)
    """The types of moments with an offset from UTC, and without one; empty: there is one type for all."""
    whole: Mapping[int, str] = field(default_factory=dict)
    """The types of whole numbers of less than 64 bits."""
    sized: str = ""
    """The template of a text of limited length; empty: no type limits it."""
    longest: int = 0
    """The largest limit."""
    bytes_each: int = 1
    """What a limit counts for each character: more than 1 where it counts bytes."""

    def name(self, text: str) -> str:
        """A quoted name."""
        if self.is_escaped:
            text = text.replace("\\", "\\\\")
            return f"{self.quote}{text.replace(self.quote, chr(92) + self.quote)}{self.quote}"
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"

    def literal(self, text: str) -> str:
        """A quoted text."""
        text = text.replace("\\", self.escape + "\\") if self.escape else text
        return "'" + text.replace("'", (self.escape or "'") + "'").replace("\n", "\\n" if self.escape else "\n") + "'"

    def undescribed(self, fields: Iterable[Field], *, is_part: bool = False) -> Iterator[str]:
        """The fields whose descriptions are not written: parts of others, and all where the system has none."""
        for entry in fields:
            if entry.description and (is_part or not (self.comment or self.has_comments)):
                yield f"{entry.name} (its description)"
            yield from self.undescribed(entry.parts, is_part=True)

    def type(self, entry: Field, requirements: ExpressedRequirements) -> str:
        """The type of a field with its parts; its own in this system, if the contract names one that can be read."""
        return self.own_type(entry) or self._type(entry, requirements)

    def own_type(self, entry: Field) -> str | None:
        """The type that the contract names for this system, if it has the form of a type: it is hostile text."""
        text = entry.native.get(self.native, "")
        match = _OWN_TYPE.fullmatch(text) if len(text) <= LONGEST_TYPE else None
        return text if match and _is_closed(match["parts"] or "") else None

    def lost(self, fields: Iterable[Field], requirements: ExpressedRequirements) -> Iterator[str]:
        """The types of this system that cannot be read, and the declared types that it does not have."""
        for entry in fields:
            is_own = self.own_type(entry) is not None
            if self.native in entry.native and not is_own:
                yield f"{entry.name} ({self.native}: it has not the form of a type)"
            if not is_own and self._is_widened(entry, declared_type(entry, requirements)):
                yield lost_type(entry, self._type(entry, requirements))
            elif not is_own and self._has_parts(entry):
                yield from self.lost(entry.parts, requirements)

    def _is_widened(self, entry: Field, found: DeclaredType) -> bool:
        """Whether a field's type has less than the field declares, and no rule says it."""
        if shape_of(entry) is not Shape.VALUE:
            return shape_of(entry) is Shape.ANY or (bool(entry.parts) and not self._has_parts(entry))
        is_text = entry.type is not LogicalType.STRING and self.types.get(entry.type, self.text) == self.text
        return is_text or not (found.is_plain or found.is_rule or is_usual(entry, found) or self._is_exact(found))

    def _has_parts(self, entry: Field) -> bool:
        """Whether a type of a field says what its parts are."""
        return "{}" in self._template(entry)

    def _template(self, entry: Field) -> str:
        """The type of values with parts; empty for values whose parts are not described."""
        templates = {Shape.LIST: self.list_of, Shape.MAP: self.map_of}
        return templates.get(shape_of(entry), self.record_of if entry.parts else "")

    def _is_exact(self, found: DeclaredType) -> bool:
        """Whether a type has exactly the values that a field declares."""
        limit = (found.length or 0) * self.bytes_each
        return bool(
            (found.digits and self.digits)
            or found.zone in self.moments
            or found.bits in self.whole
            or (self.sized and 0 < limit <= self.longest and self.bytes_each == 1)
        )

    def _type(self, entry: Field, requirements: ExpressedRequirements) -> str:
        if shape_of(entry) is not Shape.VALUE and not self._has_parts(entry):
            return self._template(entry) or self.text
        match shape_of(entry):
            case Shape.LIST:
                return self.list_of.format(self._part(entry, "[]", requirements))
            case Shape.MAP:
                inner = (self._part(entry, suffix, requirements) for suffix in (".key", ".value"))
                return self.map_of.format(*inner)
            case Shape.RECORD:
                members = (
                    self.member.format(self.name(one.own_name), self.type(one, requirements)) for one in entry.parts
                )
                return self.record_of.format(", ".join(members))
            case _:
                return self._value(entry, requirements)

    def _value(self, entry: Field, requirements: ExpressedRequirements) -> str:
        """The type of scalar values, with what the field declares of them where the system has it."""
        found = declared_type(entry, requirements)
        limit = (found.length or 0) * self.bytes_each
        if self._is_exact(found):
            express(entry, found, requirements)
        if found.digits and self.digits:
            precision, scale = found.digits
            is_small = precision - scale <= SMALL_DIGITS[0] and scale <= SMALL_DIGITS[1]
            return (self.small_digits if is_small and self.small_digits else self.digits).format(precision, scale)
        if found.zone in self.moments:
            return self.moments[bool(found.zone)]
        if found.bits in self.whole:
            return self.whole[found.bits or 0]
        if self.sized and 0 < limit <= self.longest:
            return self.sized.format(limit)
        return self.types.get(entry.type, self.text).format(entry.scale)

    def _part(self, entry: Field, suffix: str, requirements: ExpressedRequirements) -> str:
        found = part(entry, suffix)
        return self.text if found is None else self.type(found, requirements)


SMALL_DIGITS = (29, 9)
"""The digits before and after the point that a NUMERIC of BigQuery has."""


DUCKDB = DdlDialect(
    '"',
    {
        LogicalType.INTEGER: "BIGINT",
        LogicalType.NUMBER: "DOUBLE",
        LogicalType.DECIMAL: "DECIMAL(38,{0})",
        LogicalType.BOOLEAN: "BOOLEAN",
        LogicalType.DATE: "DATE",
        LogicalType.TIME: "TIME",
        LogicalType.TIMESTAMP: "TIMESTAMP",
        LogicalType.BINARY: "BLOB",
    },
    "VARCHAR",
    "{}[]",
    "MAP({}, {})",
    "STRUCT({})",
    "{} {}",
    digits="DECIMAL({0},{1})",
    moments={True: "TIMESTAMPTZ", False: "TIMESTAMP"},
    whole={16: "SMALLINT", 32: "INTEGER"},
    has_comments=True,
)
"""A length of its texts has no effect."""

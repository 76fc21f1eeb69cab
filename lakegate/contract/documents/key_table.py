"""Keys and types of ODCS, DCS and DCM, and what of the model each of them is.

The readers, the comparison of versions and the writer of ODCS use these tables, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lakegate.contract.contract_model import Rule, Shape
from lakegate.contract.documents.document_tree import Place, exact
from lakegate.contract.documents.ref_definitions import Layers
from lakegate.contract.logical_types import LogicalType

Family = Literal["odcs", "dcs", "dcm"]
"""A format without its version."""

# ---- Texts ----


@dataclass(frozen=True, slots=True)
class TextKey:
    """An attribute of the model and its key in each format; empty if it has none. `a.b` is the key `b` of the mapping `a`."""

    attribute: str
    odcs: str = ""
    dcs: str = ""
    dcm: str = ""

    def of(self, family: Family) -> str:
        """The key of a format."""
        key: str = getattr(self, family)
        return key


CONTRACT = (
    TextKey("id", "id", "id", "id"),
    TextKey("name", "name", "info.title", "name"),
    TextKey("version", "version", "info.version", "version"),
    TextKey("status", "status", "info.status"),
)
ABOUT = (
    TextKey("description", "description", "info.description", "description"),
    TextKey("purpose", "description.purpose", "", "dataSharingAgreements.purpose"),
    TextKey("usage", "description.usage", "terms.usage", "dataSharingAgreements.intendedUsage"),
    TextKey("limitations", "description.limitations", "terms.limitations", "dataSharingAgreements.limitations"),
    TextKey("owner", "team.name", "info.owner", "ownerGroup"),
)
DATASET = (TextKey("physical", "physicalName"),)
FIELD = (
    TextKey("physical", "physicalName"),
    TextKey("description", "description", "description", "description"),
    TextKey("classification", "classification", "classification"),
)


def texts_at(place: Place | Layers, table: Iterable[TextKey], family: Family) -> dict[str, Any]:
    """The texts of an element by attribute; None where there is none."""
    return {
        text.attribute: place[first].below(*others).text
        for text in table
        for first, *others in (text.of(family).split("."),)
        if first
    }


def identity_of(top: Place, family: Family) -> dict[str, Any]:
    """The texts of a contract; the id and the version are empty where there are none."""
    return {"id": "", "version": "", **{name: text for name, text in texts_at(top, CONTRACT, family).items() if text}}


def written_texts(table: Iterable[TextKey], record: object, family: Family) -> dict[str, Any]:
    """The keys of an element with the texts of a record of the model, in the order of the table."""
    found: dict[str, Any] = {}
    for entry in table:
        owner, _, own = entry.of(family).rpartition(".")
        text = getattr(record, entry.attribute)
        if own and text is not None:
            (found.setdefault(owner, {}) if owner else found)[own] = text
    return found


def keys_of(table: Iterable[TextKey], family: Family) -> set[str]:
    """The keys of an element that are texts of the model as a whole."""
    return {key for entry in table if (key := entry.of(family)) and "." not in key}


def parts_of(table: Iterable[TextKey], family: Family, key: str) -> set[str]:
    """The keys of a mapping in an element that are texts of the model."""
    return {entry.of(family).partition(".")[2] for entry in table if entry.of(family).startswith(f"{key}.")}


NATIVE = (
    *("avroType", "avroLogicalType", "avroNamespace", "bigqueryType", "snowflakeType", "redshiftType"),
    *("sqlserverType", "databricksType", "glueType"),
)
"""Keys of `config` in DCS, and custom properties of ODCS, that say what an element is in another system."""


def native(config: Place) -> dict[str, str]:
    """The types of an element in other systems: of a mapping (DCS) or of custom properties (ODCS)."""
    properties = ((item["property"].text or "", item["value"]) for item in config.items)
    return {key: entry.text for key, entry in (*config.entries.items(), *properties) if key in NATIVE and entry.text}


# ---- Constraints of values ----


KindAndArguments = tuple[str, dict[str, object]]
"""The kind of a rule and its arguments."""
TEXTS = frozenset({LogicalType.STRING, LogicalType.BINARY})
NUMBERS = frozenset({LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL})
MOMENTS = frozenset({LogicalType.DATE, LogicalType.TIME, LogicalType.TIMESTAMP})


@dataclass(frozen=True, slots=True)
class ConstraintKey:
    """A key with the argument of a rule: an option of the type in ODCS, a key of the field in DCS."""

    key: str
    types: frozenset[LogicalType]
    """Types of values that have the option in ODCS."""
    kind: str = ""
    """The kind of the rule, if it is not the key."""
    argument: str = "value"
    exclusive: bool | None = None
    """Of a bound: whether the value itself is outside of it."""
    in_dcs: bool = True

    @property
    def rule_kind(self) -> str:
        """The kind of the rule."""
        return self.kind or self.key

    def rules(self, place: Place, owner: Place | None = None) -> Iterator[KindAndArguments]:
        """The rule; none of a key that only modifies another. `owner` has the modifiers of ODCS 3.0."""
        if self.exclusive is None:
            yield self.rule_kind, {self.argument: (place.text or "") if self.key == PATTERN else exact(place)}
        elif not self.exclusive:
            modifier = owner is not None and owner[exclusive_key(self.key)].flag is True
            yield self.rule_kind, {self.argument: exact(place), "exclusive": modifier}
        elif owner is None or place.flag is None:
            yield self.rule_kind, {self.argument: exact(place), "exclusive": True}


def exclusive_key(bound: str) -> str:
    """The key of a bound that is itself outside: `exclusiveMinimum`."""
    return f"exclusive{bound.capitalize()}"


BOUNDS = ("minimum", "maximum")
PATTERN, FORMAT = "pattern", "format"
DOES_NOT_APPLY = "does-not-apply"
"""The warning about a key that has no meaning for the type of its field."""
OFFSET = "offset"
"""The kind of rules about whether moments are written with an offset from UTC."""
CONSTRAINTS = {
    item.key: item
    for item in (
        ConstraintKey("minLength", TEXTS),
        ConstraintKey("maxLength", TEXTS),
        ConstraintKey(PATTERN, TEXTS, argument=PATTERN),
        *(ConstraintKey(bound, NUMBERS | MOMENTS, exclusive=False) for bound in BOUNDS),
        *(ConstraintKey(exclusive_key(bound), NUMBERS | MOMENTS, kind=bound, exclusive=True) for bound in BOUNDS),
        ConstraintKey("multipleOf", NUMBERS, in_dcs=False),
    )
}
"""Constraints of scalar values by their key. Of a `format` the type decides whether it is a rule."""
OF_DCS = {key: constraint for key, constraint in CONSTRAINTS.items() if constraint.in_dcs}


def constraint_of(rule: Rule, logical: LogicalType) -> tuple[str, object] | None:
    """The option of ODCS that a rule of a scalar value is, with its value; None where its type has no such option."""
    if rule.kind == FORMAT:
        return (FORMAT, rule.arguments.get("value")) if logical in TEXTS else None
    key = exclusive_key(rule.kind) if rule.arguments.get("exclusive") is True else rule.kind
    constraint = CONSTRAINTS.get(key)
    return (key, rule.arguments.get(constraint.argument)) if constraint and logical in constraint.types else None


# ---- Names of types ----


ODCS_TYPES: dict[LogicalType, tuple[str, str | None]] = {
    **{each: (each.value, None) for each in LogicalType},
    LogicalType.DECIMAL: ("number", "decimal"),
    LogicalType.BINARY: ("string", "binary"),
}
"""The logical type of ODCS for each type; where ODCS has none, the physical type that distinguishes it."""
ODCS_NAMES = {word: member for member, (word, physical) in ODCS_TYPES.items() if physical is None}
ODCS_SHAPES = {Shape.RECORD: "object", Shape.LIST: "array", Shape.MAP: "map"}
"""The logical type of ODCS for each shape of nested values."""

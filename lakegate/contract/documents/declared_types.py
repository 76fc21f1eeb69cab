"""What a field declares of its values beyond their logical type: digits, an offset from UTC, bits, a length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from lakegate.base.text import quote
from lakegate.contract.contract_model import Field, Shape, shape_of
from lakegate.contract.documents.imported_schema import ExpressedRequirements
from lakegate.contract.documents.key_table import OFFSET
from lakegate.contract.documents.odcs_fields import RANGES, TIMEZONE
from lakegate.contract.logical_types import PRECISION, LogicalType
from lakegate.contract.physical_types import digit_bounds, digits_of, length_of, type_word, zone_of

_BITS = {
    **dict.fromkeys(("smallint", "short", "tinyint", "byteint", "byte", "smallserial"), 16),
    **dict.fromkeys(("int", "integer", "mediumint", "serial"), 32),
}
"""The bits of a signed number that has all values of a physical type, where they are fewer than 64."""


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """At most one of its attributes is set: that of the logical type."""

    digits: tuple[int, int] | None = None
    """Precision and scale of a decimal."""
    zone: bool | None = None
    """Whether moments have an offset from UTC."""
    bits: int | None = None
    """Of a whole number: 16 or 32."""
    length: int | None = None
    """The most characters of a text."""
    is_rule: bool = False
    """Whether rules of the contract say it: then they are listed where a target does not express it."""

    @property
    def is_plain(self) -> bool:
        """Whether the logical type says all."""
        return self == DeclaredType(is_rule=self.is_rule)


def declared_type(field: Field, requirements: ExpressedRequirements) -> DeclaredType:
    """What a field declares by its physical type, and by its rules."""
    if shape_of(field) is not Shape.VALUE:
        return DeclaredType()
    match field.type:
        case LogicalType.DECIMAL:
            return DeclaredType(digits=_digits(field))
        case LogicalType.TIMESTAMP:
            by_rules = {bool(rule.arguments.get("value")) for rule in requirements.named(field.name, OFFSET)}
            by_rules |= {True for _ in requirements.named(field.name, TIMEZONE)}
            zone = next(iter(by_rules)) if len(by_rules) == 1 else zone_of(field.physical_type)
            return DeclaredType(zone=zone, is_rule=bool(by_rules))
        case LogicalType.INTEGER:
            by_rule = next((bits for bits in (16, 32) if _is_bounded(field, requirements, bits)), None)
            by_word = None if requirements.has_wide_integers else _BITS.get(type_word(field.physical_type))
            bits = by_rule or by_word
            return DeclaredType(bits=bits, is_rule=by_rule is not None)
        case LogicalType.STRING:
            rules = [rule.arguments.get("value") for rule in requirements.named(field.name, "maxLength")]
            lengths = [int(one) for one in rules if isinstance(one, Decimal) and one == one.to_integral_value()]
            length = min(lengths, default=None) or length_of(field.physical_type)
            return DeclaredType(length=length, is_rule=bool(lengths))
        case _:
            return DeclaredType()


def _digits(field: Field) -> tuple[int, int] | None:
    digits = digits_of(field.physical_type)
    return digits if digits and 0 < digits[0] <= PRECISION and digits[1] <= digits[0] else None


def _is_bounded(field: Field, requirements: ExpressedRequirements, bits: int) -> bool:
    """Whether rules bound a whole number to so many bits."""
    low, high = RANGES[f"i{bits}"]
    return all(
        any(rule.arguments == {"value": bound, "exclusive": False} for rule in requirements.named(field.name, kind))
        for kind, bound in (("minimum", low), ("maximum", high))
    )


def express(field: Field, found: DeclaredType, requirements: ExpressedRequirements) -> None:
    """The rules that a type of exactly these values expresses: bounds of its digits or bits, and its length."""
    if found.digits is not None:
        high, step = digit_bounds(*found.digits)
        _express_bounds(field, requirements, high.copy_negate(), high)
        requirements.express(field.name, "multipleOf", value=step)
    elif found.bits is not None:
        _express_bounds(field, requirements, *RANGES[f"i{found.bits}"])
    elif found.length is not None:
        requirements.express(field.name, "maxLength", value=Decimal(found.length))


def _express_bounds(field: Field, requirements: ExpressedRequirements, low: Decimal, high: Decimal) -> None:
    requirements.express(field.name, "minimum", value=low, exclusive=False)
    requirements.express(field.name, "maximum", value=high, exclusive=False)


def is_usual(field: Field, found: DeclaredType) -> bool:
    """Whether a decimal declares the digits that those of the gate have."""
    return found.digits == (PRECISION, field.scale)


def unexpressed_fields(fields: tuple[Field, ...], requirements: ExpressedRequirements, words: str) -> Iterator[str]:
    """The fields, nested ones included, whose declared type a target does not have, where it has logical types alone."""
    for field in fields:
        found = declared_type(field, requirements)
        if not (found.is_plain or found.is_rule or is_usual(field, found)):
            yield lost_type(field, words)
        yield from unexpressed_fields(field.parts, requirements, words)


def lost_type(field: Field, written: str) -> str:
    """The words for a declared type that a target has not."""
    declared = field.physical_type or field.declared or field.type.value
    return f"{field.name} ({quote(re.sub(' +', ' ', declared))}: written as {written})"

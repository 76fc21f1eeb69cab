"""required, unique, enum, pattern, length, minimum, text formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakegate.base.text import format_limit
from lakegate.contract.contract_model import Contract, Dataset, Field, Rule, Shape, shape_of
from lakegate.contract.logical_types import LogicalType, grammar
from lakegate.patterns.date_formats import compile_java_format
from lakegate.plan.check import Check
from lakegate.plan.predicates import All, Length, Matches, MultipleOf, NoRepeats, Not, Predicate, Present, Size, Typed
from lakegate.rules.check_builder import (
    Checks,
    Fields,
    argument,
    brief,
    in_range,
    items,
    join_values,
    number,
    one_of,
    refuse,
    regex,
    rows,
    skip_check,
    unique_rows,
    value_of,
    whole_number,
    within,
)

# ---- Named formats of text ----
# They have the meaning that JSON Schema gives them: `email` is a mailbox of RFC 5321 (section 4.1.2, with the lengths of
# 4.5.3.1), `uri` a URI of RFC 3986 (never a relative reference), `uuid` that of RFC 4122, `hostname` that of RFC 1123. Formats
# of display or storage (`password`, `byte`, `binary`) are not included, because they cannot be measured.
#
# Ambiguous parts are in atomic groups, so that the engine does not backtrack.


@dataclass(frozen=True, slots=True)
class TextForm:
    """A format: its pattern (in the dialect of plans) and its name in messages."""

    pattern: str
    words: str


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LABEL = r"(?>[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
_HOST = rf"(?=.{{1,253}}\z){_LABEL}(?:\.{_LABEL})*+"
_GROUP = r"(?>[0-9A-Fa-f]{1,4})"
_IPV6 = "|".join(
    [
        rf"(?:{_GROUP}:){{7}}{_GROUP}",
        *(rf"(?:{_GROUP}:){{{n}}}(?::{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
        rf":(?::{_GROUP}){{1,7}}",
        rf"(?:{_GROUP}:){{1,7}}:",
        "::",
        rf"(?:{_GROUP}:){{6}}{_IPV4}",
        rf"::(?:{_GROUP}:){{0,5}}{_IPV4}",
        *(rf"(?:{_GROUP}:){{{n}}}(?::{_GROUP}){{0,{5 - n}}}:{_IPV4}" for n in range(1, 6)),
    ]
)

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_QUOTED = r"(?:[ !#-\[\]-~]|\\[ -~])"
_SNUM = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
_LOCAL = rf'(?:{_ATOM}+(?:\.{_ATOM}+)*|"{_QUOTED}*")'
_SHORT_LOCAL = rf"""(?:[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}|"{_QUOTED}{{0,62}}")"""
_MAIL_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*+|\[(?:{_SNUM}(?:\.{_SNUM}){{3}}|[Ii][Pp][Vv]6:(?:{_IPV6}))\])"
_UNRESERVED = r"A-Za-z0-9.\-_~!$&'()*+,;="
"""The characters of URIs that are reserved nowhere, and the sub-delimiters."""
_ESCAPED = "%[0-9A-Fa-f]{2}"
_PATH = rf"(?:[{_UNRESERVED}:@/]|{_ESCAPED})*"
_IP_LITERAL = rf"\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}:]+)\]"
_AUTHORITY = rf"(?:(?:[{_UNRESERVED}:]|{_ESCAPED})*@)?(?:{_IP_LITERAL}|(?:[{_UNRESERVED}]|{_ESCAPED})*)(?::[0-9]*)?"
_AFTER_SCHEME = rf"(?://{_AUTHORITY}(?:/{_PATH})?|/?(?:(?:[{_UNRESERVED}:@]|{_ESCAPED}){_PATH})?)"
_REST = rf"(?:[{_UNRESERVED}:@/?]|{_ESCAPED})*"
TEXT_FORMS = {
    "email": TextForm(rf"\A(?={_SHORT_LOCAL}@.{{1,255}}\z){_LOCAL}@{_MAIL_HOST}\z", "an email address"),
    "uuid": TextForm(r"\A[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\z", "a UUID"),
    "uri": TextForm(rf"\A[A-Za-z][A-Za-z0-9+.-]*:{_AFTER_SCHEME}(?:\?{_REST})?(?:#{_REST})?\z", "a URI"),
    "hostname": TextForm(rf"\A{_HOST}\z", "a host name"),
    "ipv4": TextForm(rf"\A{_IPV4}\z", "an IPv4 address"),
    "ipv6": TextForm(rf"\A(?:{_IPV6})\z", "an IPv6 address"),
}

NAME_AT_DOMAIN = rf"\A[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})++\z"
"""The email address of Soda: a name at a domain with an extension."""


# ---- Constraints of fields ----


TEXTS = (LogicalType.STRING, LogicalType.BINARY)
OFFSET = r":[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)\z"
"""The end of a moment or a time of day with an offset."""
WITHOUT_OFFSET = "^[^T ]*[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?$"
"""A moment without an offset (ECMA-262)."""


def typed(rule: Rule, field: Field) -> Check:
    """Every value matches the grammar of the declared type."""
    return rows(rule, field, Typed(field.name), grammar(field.type, field.scale).words)


def with_parts(rule: Rule, field: Field) -> Check:
    """Every value has the declared nested fields; constraints of their number are skipped."""
    option = rule.arguments.get("option")
    if option is not None:
        return skip_check(rule, (field,), f"the option {brief(str(option))} of values with parts is not measured")
    return rows(rule, field, Typed(field.name), f"values of the type {brief(field.declared or 'declared')}")


def bounded_size(*shapes: Shape, is_low: bool) -> Callable[[Rule, Field], Check]:
    """Every list, map or object has at least (or at most) `value` parts."""

    def compile_one(rule: Rule, field: Field) -> Check:
        count = whole_number(rule, argument(rule, "value"))
        noun = {Shape.LIST: "element", Shape.MAP: "key"}.get(shape_of(field), "member")
        size, words = (Size(field.name, low=count), "least") if is_low else (Size(field.name, high=count), "most")
        return _of_whole(rule, field, shapes, size, f"at {words} {format_limit(count, noun)}")

    return compile_one


def no_repeats(rule: Rule, field: Field) -> Check:
    """No two elements of a list are equal."""
    return _of_whole(rule, field, (Shape.LIST,), NoRepeats(field.name), "no element twice")


def required_member(rule: Rule, field: Field) -> Check:
    """Every object has a value in one of its members."""
    written = str(argument(rule, "member"))
    member = next((part for part in field.parts if part.name == f"{field.name}.{written}"), None)
    if member is None:
        return skip_check(rule, (field,), f"{field.name} declares no {brief(written)}")
    predicate = Not(All((Present(field.name), Not(Present(member.name)))))
    return _of_whole(rule, field, (Shape.RECORD,), predicate, f"with a value of {brief(written)}")


def _of_whole(rule: Rule, field: Field, shapes: tuple[Shape, ...], predicate: Predicate, words: str) -> Check:
    """A check of a whole list, map or object."""
    if shape_of(field) not in shapes:
        return skip_check(
            rule,
            (field,),
            f"{rule.kind} does not apply to values of the type {brief(field.declared or field.type.value)}",
        )
    return rows(rule, field, predicate, words)


def required(rule: Rule, field: Field) -> Check:
    """Every row has a value."""
    return rows(rule, field, Present(field.name), "present")


def unique(rule: Rule, field: Field) -> Check:
    """No value occurs in two rows."""
    return unique_rows(rule, (field,))


def primary_key(rule: Rule, fields: Fields) -> Checks:
    """Every part of the key is present, and no two rows share the whole key."""
    if not fields:
        refuse(rule, "no-column", "the rule primaryKey must name a column")
    parts = (replace(required(rule, field), id=f"{rule.id}:required/{field.name}") for field in fields)
    return (*parts, unique_rows(rule, fields))


def enum(rule: Rule, field: Field) -> Check:
    """Every value is one of a closed list."""
    predicate = one_of(rule, field, items(rule, argument(rule, "values")))
    return rows(rule, field, predicate, join_values(predicate.values))


def _of_texts(rule: Rule, field: Field) -> Check:
    """A rule about texts, at values of another type (DCS 1.1.0: "Only applies to unicode character sequences types")."""
    return skip_check(rule, (field,), f"{rule.kind} is for texts, and {field.name} has the type {field.type.value}")


def pattern(rule: Rule, field: Field) -> Check:
    """A regular expression of ECMA-262 is found in every text."""
    if field.type not in TEXTS:
        return _of_texts(rule, field)
    written = str(argument(rule, "pattern"))
    return rows(rule, field, Matches(field.name, regex(rule, written)), f"matching {brief(written)}")


def bounded_length(*, is_low: bool) -> Callable[[Rule, Field], Check]:
    """Every text has at least (or at most) `value` characters (code points)."""

    def compile_one(rule: Rule, field: Field) -> Check:
        count = whole_number(rule, argument(rule, "value"))
        if field.type not in TEXTS:
            return _of_texts(rule, field)
        length, words = (Length(field.name, low=count), "least") if is_low else (Length(field.name, high=count), "most")
        return rows(rule, field, length, format_limit(f"at {words} {count}", "character"))

    return compile_one


def minimum(rule: Rule, field: Field) -> Check:
    """No value is below a bound."""
    is_open = rule.arguments.get("exclusive") is True
    return in_range(rule, field, within(rule, field, low=argument(rule, "value"), low_open=is_open))


def maximum(rule: Rule, field: Field) -> Check:
    """No value is above a bound."""
    is_open = rule.arguments.get("exclusive") is True
    return in_range(rule, field, within(rule, field, high=argument(rule, "value"), high_open=is_open))


def multiple_of(rule: Rule, field: Field) -> Check:
    """Every number is a whole multiple of another."""
    factor = number(rule, argument(rule, "value"))
    if factor <= 0 or not field.type.numeric:
        refuse(rule, "no-multiple", f"{field.name} must be a number, and its multipleOf above 0")
    written = value_of(rule, field, factor)
    return rows(rule, field, MultipleOf(field.name, written), f"a multiple of {written}")


def date_format(rule: Rule, field: Field) -> Check:
    """Every text is a date in the declared format; other constraints of such dates are skipped."""
    if rule.arguments.get("option") != "format":
        option = brief(str(rule.arguments.get("option")))
        return skip_check(rule, (field,), f"{option} of dates in a format of their own is not measured by this version")
    if field.type is not LogicalType.STRING:
        return skip_check(rule, (field,), f"a {field.type.value} is read as ISO 8601, in no other format")
    written = str(argument(rule, "value"))
    try:
        pattern = compile_java_format(written)
    except ValueError as error:
        return skip_check(rule, (field,), str(error))
    return rows(rule, field, Matches(field.name, pattern), f"written as {brief(written)}")


def with_offset(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields) -> Checks:
    """Every moment or time of day is written with its offset from UTC, or none is where the rule's value is false."""
    del contract
    is_wanted = rule.arguments.get("value", True)
    if not dataset.storage.format.is_text:
        return tuple(_of_zone(rule, field, is_wanted=bool(is_wanted)) for field in fields)
    pattern, words = (OFFSET, "with") if is_wanted else (regex(rule, WITHOUT_OFFSET), "without")
    return tuple(rows(rule, field, Matches(field.name, pattern), f"{words} an offset from UTC") for field in fields)


def _of_zone(rule: Rule, field: Field, *, is_wanted: bool) -> Check:
    """The type that a file with a schema gives the field says whether moments have a zone (`PlanField.zone`)."""
    if field.type is not LogicalType.TIMESTAMP:
        return skip_check(rule, (field,), f"a {field.type.value} has no zone in files with a schema of their own")
    return rows(rule, field, Typed(field.name), f"moments {'with' if is_wanted else 'without'} a zone")


def text_form(rule: Rule, field: Field) -> Check:
    """Every text matches a named format; a format that does not constrain the text is skipped."""
    name = str(argument(rule, "value"))
    if field.type not in TEXTS:
        return skip_check(
            rule, (field,), f"the format {brief(name)} is one of texts, and {field.name} is a {field.type.value}"
        )
    form = TEXT_FORMS.get(name.strip().lower())
    if form is None:
        return skip_check(rule, (field,), f"the format {brief(name)} cannot be measured on text")
    return rows(rule, field, Matches(field.name, form.pattern), form.words)

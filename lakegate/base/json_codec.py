"""One codec: dataclasses to JSON and back, strictly; canonical bytes and digests."""

from __future__ import annotations

import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from hashlib import sha256
from operator import attrgetter, getitem
from typing import Annotated, Any, ClassVar, Final, Self

from lakegate.base.errors import InputError

# ---- Dataclasses to JSON and back ----
# Dataclasses become objects, enums their value, `Decimal` a string, tuples arrays. The `kind` class variable of a dataclass
# becomes `"kind"`, the discriminator of unions. The canonical text (sorted keys, no spaces, UTF-8) gives equal values the same
# digest. What a type does not say of a value, `Annotated` says with `Bounds`, `Pattern`, `Permitted` and `Unique`;
# `infra.site.published_schemas` derives the JSON Schemas of `lakegate/schemas` from the same hints.


Json = typing.Any
Convert: typing.TypeAlias = Callable[[Json], Json]
Constraints: typing.TypeAlias = dict[type, Json]
DOCUMENT_NAME = "document_name"
"""Metadata of a field that has another name in documents."""
OMITTED = "omitted"
"""Metadata of a field that documents do not have where it has its default."""
UNWRITTEN: Final = types.MappingProxyType({"unwritten": True})
"""Metadata of a field with a default that is no part of the document: what only words for people say."""
EXTENSIONS: Final = types.MappingProxyType({"unwritten": True, "extensions": True})
"""Metadata of the one field, a text whose default is `{}`, that keeps unread what the type does not know of a stored document:
members of features, or of a newer release. They stand among the other members again where the value is encoded."""
LONGEST_STEP: Final = 200
"""Characters of a step of a path, and of a requirement."""
MOST_ERRORS: Final = 20
"""Violations of a document that are found at once."""
T = typing.TypeVar("T")
_PLAIN: Final = frozenset({str, int, float, bool, types.NoneType})
"""Types whose values are JSON."""
_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of a number, of the characters of a text, or of the number of members of an array or an object."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, without anchors, that a whole text matches. It has the same meaning in Python and ECMAScript."""

    expression: str


@dataclass(frozen=True, slots=True)
class Permitted:
    """The permitted values."""

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Unique:
    """No two members of an array are equal."""


def omit_default(default: T, name: str = "") -> T:
    """Make a field that documents do not have where it has its default. `name`: in documents, where it is another one."""
    made: T = field(default=default, metadata={OMITTED: True} | ({DOCUMENT_NAME: name} if name else {}))
    return made


Sha256 = Annotated[str, Pattern("[0-9a-f]{64}")]
Count = Annotated[int, Bounds(0, 2**63 - 1)]
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that all JSON libraries represent exactly."""
Exact = Annotated[int, Bounds(0, MAX_INTEGER)]
NotEmpty = Annotated[str, Bounds(1)]
Name = Annotated[str, Bounds(1, 1024)]
Share = Annotated[Decimal, Pattern(r"0(\.[0-9]{1,40})?|1(\.0{1,40})?")]
"""From 0 to 1."""
DECIMAL: Final = Pattern(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?")
"""The text of a `Decimal` without a pattern of its own."""
KEYWORDS: Final = {
    str: ("minLength", "maxLength"),
    int: ("minimum", "maximum"),
    float: ("minimum", "maximum"),
    tuple: ("minItems", "maxItems"),
    dict: ("minProperties", "maxProperties"),
    Mapping: ("minProperties", "maxProperties"),
}
"""The names of bounds in JSON Schema."""
TYPES: Final = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "array",
    dict: "object",
    Mapping: "object",
}
"""The names of types in JSON Schema."""
_FORMS: Final[dict[type, tuple[type, ...]]] = {
    **{each: (each,) for each in (str, bool, dict)},
    **dict.fromkeys((int, float), (int, float)),
    tuple: (list,),
}
"""The types of a value in parsed JSON."""


class DecodeError(ValueError):
    """The first violation in a document, and further ones: each has its place, and the rule by its keyword of JSON Schema.

    Without text of the document; only the pointer has the name of an unknown member.
    """

    def __init__(self, rule: str, requirement: Json) -> None:
        super().__init__(rule)
        self.rule, self.requirement = rule, requirement
        self.steps: list[str | int] = []
        """To the place, the last step first."""
        self.others: tuple[DecodeError, ...] = ()
        """Further violations of the same document; with this one at most `MOST_ERRORS`."""

    @property
    def place(self) -> str:
        """The path in words."""
        return "/".join(map(str, reversed(self.steps))) or "the whole document"

    @property
    def pointer(self) -> str:
        """The place as a JSON Pointer (RFC 6901); of an unknown member, which `place` does not name, that of the member."""
        unknown = self.requirement[:1] if self.rule == "additionalProperties" else ()
        steps = (*reversed(self.steps), *unknown)
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)

    def below(self, step: str | int) -> Self:
        """The same violations, seen from the object or array around them."""
        own: tuple[DecodeError, ...] = (self, *self.others)
        for error in own:
            error.steps.append(step[:LONGEST_STEP] if isinstance(step, str) else step)
        return self


def _together(errors: list[DecodeError]) -> DecodeError:
    """The first of some errors, with the others."""
    _, *others = (one for error in errors for one in (error, *error.others))
    errors[0].others = tuple(others[: MOST_ERRORS - 1])
    return errors[0]


def encode(value: object) -> Json:
    """The JSON form of a value, including defaults, so that documents are explicit."""
    cls: Json = type(value)
    return value if cls in _PLAIN else _encoder(cls)(value)


def decode(cls: type[T] | types.UnionType, document: Json, *, strict: bool = False) -> T:
    """The value of type `cls` in a JSON document; DecodeError where it does not fit the type's hints.

    Unknown keys are ignored, or kept in the field with `EXTENSIONS`, as a newer release may have written a row; `strict`
    refuses them.
    """
    try:
        return typing.cast("T", decoder(typing.cast("Json", cls), strict=strict)(document))
    except RecursionError:
        raise DecodeError("type", "less nested") from None


def decode_document(cls: type[T] | types.UnionType, schema: str, document: Json, *, strict: bool = True) -> T:
    """The value of a document of a published schema; InputError with the place of the first violation if it does not fit.

    Not `strict`: it may have members of a newer release.
    """
    try:
        return decode(cls, document, strict=strict)
    except DecodeError as error:
        raise InputError(f"{schema}.json does not fit its schema at {error.place} (rule: {error.rule})") from None


def canonical(value: object) -> bytes:
    """The canonical text of a value, of which digests are computed; ValueError for a number that JSON does not have."""
    return _written(encode(value)).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return sha256_of(canonical(value))


def sha256_of(content: str | bytes) -> str:
    """SHA-256 of a text in UTF-8, or of bytes, in hexadecimal."""
    return sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@cache
def _encoder(cls: type) -> Convert:
    """The JSON form of values of a type, which is examined once."""
    if issubclass(cls, Enum):
        return attrgetter("value")
    if issubclass(cls, Decimal):
        return lambda value: format(value, "f")
    if issubclass(cls, tuple | list):
        return lambda value: [encode(each) for each in value]
    if issubclass(cls, dict):
        return lambda value: {key: encode(each) for key, each in value.items()}
    return _dataclass_encoder(cls) if is_dataclass(cls) else _same


def _dataclass_encoder(cls: Json) -> Convert:
    kind = tag(cls)
    own = {} if kind is None else {"kind": kind}
    names = [
        (
            field.metadata.get(DOCUMENT_NAME, field.name),
            field.name,
            field.default if OMITTED in field.metadata else MISSING,
        )
        for field in fields(cls)
        if "unwritten" not in field.metadata
    ]

    place = _open_place(cls)

    def encoded(value: Json) -> Json:
        document: dict[str, Json] = {**json.loads(getattr(value, place)), **own} if place else {**own}
        for name, attribute, omitted in names:
            member = getattr(value, attribute)
            if omitted is not MISSING and member == omitted:
                continue
            document[name] = member if type(member) in _PLAIN else encode(member)
        return document

    return encoded


def _open_place(cls: Json) -> str:
    """The name of the field that keeps what a dataclass does not know; empty where it has none."""
    return next((field.name for field in fields(cls) if "extensions" in field.metadata), "")


def _same(value: Json) -> Json:
    return value


def tag(cls: type) -> str | None:
    """The value of `"kind"` that the objects of a dataclass have."""
    kind = cls.__dict__.get("kind")
    return kind if isinstance(kind, str) else None


@dataclass(frozen=True, slots=True)
class DocumentField:
    """A field of a dataclass, as documents have it."""

    key: str
    name: str
    """Of the field."""
    hint: Json
    """Without None, if None is not written."""
    is_required: bool
    """Unless the field has a default; always, where it is a constant, which names the format."""


@cache
def members_of(cls: type) -> tuple[DocumentField, ...]:
    """The fields of a dataclass."""
    hints = typing.get_type_hints(cls, include_extras=True)
    written = (field for field in fields(typing.cast("Json", cls)) if "unwritten" not in field.metadata)
    return tuple(_member(each, hints[each.name]) for each in written)


def _member(field: Field[Json], hint: Json) -> DocumentField:
    if OMITTED in field.metadata and field.default is None:
        (hint,) = (member for member in typing.get_args(hint) if member is not types.NoneType)
    is_constant = _origin(hint) is typing.Literal and len(typing.get_args(hint)) == 1
    has_default = field.default is not MISSING or field.default_factory is not MISSING
    return DocumentField(
        field.metadata.get(DOCUMENT_NAME, field.name), field.name, hint, is_constant or not has_default
    )


def _origin(hint: Json) -> Json:
    return typing.get_origin(hint)


def limits(hint: Json) -> tuple[Json, Constraints]:
    """A hint without `Annotated`, and what that says, by the class of the constraint."""
    if _origin(hint) is not Annotated:
        return hint, {}
    base, *constraints = typing.get_args(hint)
    return base, {type(constraint): constraint for constraint in constraints}


def annotate_limits(base: Json, constraints: Constraints) -> Json:
    """The inverse of `limits`."""
    return getitem(Annotated, (base, *constraints.values())) if constraints else base


# ---- Selections ----
# What commands print, and what the API and events have, is a selection of the fields of a record of the core.


def select_fields(cls: type[T], *sources: object, **more: object) -> T:
    """A record with `more`, and the fields that the first source has, then the second; with the values that documents have.

    Records within it are selected likewise; documents stay. A time is a text (ISO 8601), an empty text is None in a field that
    may be None. Where a source is None, such a field that no other source has is None.
    """
    hints = _hints(cls)
    for source in sorted(sources, key=lambda each: each is None):
        more = {
            name: getattr(source, name, None)
            for name, hint in hints.items()
            if hasattr(source, name) or (source is None and types.NoneType in typing.get_args(hint))
        } | more
    return cls(**{name: _selection(hints[name])(value) for name, value in more.items()})


_hints: Final[Convert] = cache(typing.get_type_hints)


@cache
def _selection(hint: Json) -> Convert:
    """The function that makes a value of a hint."""
    inner = typing.get_args(hint)
    if inner[1:] == (types.NoneType,):
        return lambda value: None if value is None or value == "" else _selection(inner[0])(value)
    if inner[1:] == (Ellipsis,):
        return lambda values: tuple(map(_selection(inner[0]), values))
    if is_dataclass(hint):
        return lambda value: value if type(value) in {hint, dict} else select_fields(typing.cast("type", hint), value)
    return lambda value: value.isoformat() if hint is str and isinstance(value, datetime) else value


# ---- Decoders ----


@cache
def decoder(hint: Json, *, strict: bool) -> Convert:
    """The function from the JSON form of values of a hint to the values."""
    base, constraints = limits(hint)
    kind = _origin(base) or base
    if Permitted in constraints:
        inner = decoder(base, strict=strict)
        return _choice_decoder({value: inner(value) for value in constraints[Permitted].values})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice_decoder({member.value: member for member in kind})
    if is_dataclass(kind):
        return partial(_decoded_dataclass, kind, strict=strict)
    if kind not in _BUILDERS:
        raise TypeError(f"values of {base} have no form in JSON")
    return _BUILDERS[kind](base, constraints, strict=strict)


def _union_decoder(hint: Json, constraints: Constraints, *, strict: bool) -> Convert:
    members = typing.get_args(hint)
    present = [member for member in members if member is not types.NoneType]
    if len(present) == 1:
        inner = decoder(annotate_limits(present[0], constraints), strict=strict)
    elif all(map(is_dataclass, present)):
        inner = _object_of_union_decoder(present, strict=strict)
    else:
        inner = _type_of_union_decoder(present, strict=strict)
    if len(present) == len(members):
        return inner
    return lambda document: None if document is None else inner(document)


def _object_of_union_decoder(members: list[Json], *, strict: bool) -> Convert:
    """Of dataclasses, which the constant of one key tells apart: their tag, or their first field."""
    key, by_kind = "kind", {tag(member): decoder(member, strict=strict) for member in members}
    if tag(members[0]) is None:
        key = members_of(members[0])[0].key
        by_kind = {typing.get_args(members_of(member)[0].hint)[0]: decoder(member, strict=strict) for member in members}

    def decoded(document: Json) -> Json:
        if type(document) is not dict:
            raise DecodeError("type", "object")
        if key not in document:
            raise DecodeError("required", [key])
        kind = document[key]
        if type(kind) is not str or kind not in by_kind:
            raise DecodeError("enum", sorted(by_kind)).below(key)
        return by_kind[kind](document)

    return decoded


def _type_of_union_decoder(members: list[Json], *, strict: bool) -> Convert:
    """Of hints whose values have different types in JSON; at most one is a dataclass."""
    by_type: dict[type, Convert] = {}
    for member in members:
        base, _ = limits(member)
        kind = dict if is_dataclass(base) else _origin(base) or base
        for one in _FORMS[kind]:
            by_type[one] = decoder(member, strict=strict)
    names = sorted({TYPES[tuple if each is list else each] for each in by_type})

    def decoded(document: Json) -> Json:
        found = by_type.get(type(document))
        if found is None:
            raise DecodeError("type", names)
        return found(document)

    return decoded


def _literal_decoder(hint: Json, _: Constraints, **_mode: bool) -> Convert:
    return _choice_decoder({member: member for member in typing.get_args(hint)})


def _decimal_decoder(_: Json, constraints: Constraints, *, strict: bool) -> Convert:
    text = decoder(annotate_limits(str, {Pattern: DECIMAL} | constraints), strict=strict)
    return lambda document: Decimal(text(document))


def _choice_decoder(values: dict[Json, Json]) -> Convert:
    """Of values that differ by more than their type; a whole number may be written with a point, as JSON Schema permits."""
    permitted = {(type(each), each): value for each, value in values.items()}
    words = list(values)
    rule, requirement = ("const", words[0]) if len(words) == 1 else ("enum", words)

    def decoded(document: Json) -> Json:
        kind = type(document)
        if kind is float and document.is_integer():
            kind = int
        if kind in _PLAIN and (kind, document) in permitted:
            return permitted[kind, document]
        raise DecodeError(rule, requirement)

    return decoded


def _decoded_boolean(document: Json) -> Json:
    if type(document) is not bool:
        raise DecodeError("type", "boolean")
    return document


def _boolean_decoder(_hint: Json, _: Constraints, **_mode: bool) -> Convert:
    return _decoded_boolean


def _any_decoder(_hint: Json, _: Constraints, **_mode: bool) -> Convert:
    return _same


def _text_decoder(_: Json, constraints: Constraints, **_mode: bool) -> Convert:
    bounds, pattern = constraints.get(Bounds, Bounds()), constraints.get(Pattern)
    least, most = bounds.least or 0, math.inf if bounds.most is None else bounds.most
    expression = pattern.expression if pattern is not None else ""
    matches = re.compile(expression).fullmatch if pattern is not None else None

    def decoded(document: Json) -> Json:
        if type(document) is not str:
            raise DecodeError("type", "string")
        if not least <= len(document) <= most:
            raise _out_of(str, bounds, len(document))
        if matches is not None and matches(document) is None:
            raise DecodeError("pattern", f"^{expression}$")
        return document

    return decoded


def _number_decoder(cls: type, constraints: Constraints, **_mode: bool) -> Convert:
    bounds = constraints.get(Bounds, Bounds())
    least = -math.inf if bounds.least is None else bounds.least
    most = math.inf if bounds.most is None else bounds.most

    def decoded(document: Json) -> Json:
        kind = type(document)
        if kind is float and cls is int and document.is_integer():
            document, kind = int(document), int
        if kind is not int and (kind is not cls or not math.isfinite(document)):
            raise DecodeError("type", TYPES[cls])
        if not least <= document <= most:
            raise _out_of(cls, bounds, document)
        return document

    return decoded


def _array_decoder(hint: Json, constraints: Constraints, *, strict: bool) -> Convert:
    """Of a tuple of any length, `tuple[X, ...]`, or of one with a type for each element."""
    elements, bounds, is_unique = typing.get_args(hint), constraints.get(Bounds, Bounds()), Unique in constraints
    if elements[-1] is not Ellipsis:
        bounds = Bounds(len(elements), len(elements))
    own = [decoder(element, strict=strict) for element in elements if element is not Ellipsis]
    same = own[0] if len(set(own)) == 1 else None
    least, most = bounds.least or 0, math.inf if bounds.most is None else bounds.most

    def decoded(document: Json) -> Json:
        if type(document) is not list:
            raise DecodeError("type", "array")
        if not least <= len(document) <= most:
            raise _out_of(tuple, bounds, len(document))
        found: list[Json] = []
        failed: list[DecodeError] = []
        for at, each in enumerate(document):
            try:
                found.append((same or own[at])(each))
            except DecodeError as error:
                failed.append(error.below(at))
                if len(failed) == MOST_ERRORS:
                    break
        if failed:
            raise _together(failed)
        if is_unique and len(set(found)) < len(found):
            raise DecodeError("uniqueItems", True)
        return tuple(found)

    return decoded


def _object_decoder(hint: Json, constraints: Constraints, *, strict: bool) -> Convert:
    key, item = (decoder(member, strict=strict) for member in typing.get_args(hint))
    bounds = constraints.get(Bounds, Bounds())
    least, most = bounds.least or 0, math.inf if bounds.most is None else bounds.most

    def decoded(document: Json) -> Json:
        if type(document) is not dict:
            raise DecodeError("type", "object")
        if not least <= len(document) <= most:
            raise _out_of(dict, bounds, len(document))
        found = {}
        for name, each in document.items():
            try:
                key(name)
            except DecodeError as error:
                raise DecodeError("propertyNames", error.requirement) from None
            try:
                found[name] = item(each)
            except DecodeError as error:
                raise error.below(name[:LONGEST_STEP]) from None
        return found

    return decoded


def _out_of(cls: type, bounds: Bounds, found: Json) -> DecodeError:
    low, high = KEYWORDS[cls]
    is_low = bounds.least is not None and found < bounds.least
    return DecodeError(low, bounds.least) if is_low else DecodeError(high, bounds.most)


_BUILDERS: Final[dict[Json, Callable[..., Convert]]] = {
    **dict.fromkeys((typing.Union, types.UnionType), _union_decoder),
    **dict.fromkeys((object, Any), _any_decoder),
    **dict.fromkeys((int, float), _number_decoder),
    typing.Literal: _literal_decoder,
    Decimal: _decimal_decoder,
    bool: _boolean_decoder,
    str: _text_decoder,
    tuple: _array_decoder,
    **dict.fromkeys((dict, Mapping), _object_decoder),
}
"""By the type of a hint: the function of the hint, its constraints and whether unknown keys are refused."""


def _decoded_dataclass(cls: Json, document: Json, *, strict: bool) -> object:
    members, required, place = member_decoders(cls, strict=strict)
    if type(document) is not dict:
        raise DecodeError("type", "object")
    values: dict[str, Json] = {}
    unknown: dict[str, Json] = {}
    failed: list[DecodeError] = []
    for key, each in document.items():
        member = members.get(key)
        if member is None:
            unknown[key] = each
            if strict and len(failed) < MOST_ERRORS:
                failed.append(DecodeError("additionalProperties", (key[:LONGEST_STEP], sorted(members))))
            continue
        name, decoded = member
        try:
            values[name] = decoded(each)
        except DecodeError as error:
            failed.append(error.below(key))
    failed += [DecodeError("required", [each]) for each in sorted(required - document.keys())]
    if failed:
        raise _together(failed)
    values.pop("", None)
    if place and unknown:
        values[place] = json.dumps(unknown)
    return cls(**values)


@cache
def member_decoders(cls: Json, *, strict: bool) -> tuple[dict[str, tuple[str, Convert]], frozenset[str], str]:
    """Of each key the name of its field and its decoder, the required keys, and the field for unknown ones (else empty).

    The name of a tag, which is no field, is empty.

    It is not called before a value is decoded: types may be recursive.
    """
    own = members_of(cls)
    members = {member.key: (member.name, decoder(member.hint, strict=strict)) for member in own}
    required = {member.key for member in own if member.is_required}
    kind = tag(cls)
    if kind is not None:
        members["kind"] = ("", _choice_decoder({kind: kind}))
        required.add("kind")
    return members, frozenset(required), _open_place(cls)


# ---- Documents with a published schema ----


class VersionedDocument:
    """A value that is a document with a published JSON Schema."""

    __slots__ = ()
    schema: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """The document with its version."""
        document: dict[str, object] = encode(self)
        return document

    def to_bytes(self) -> bytes:
        """The canonical bytes of the document, as it is stored; equal values have equal bytes."""
        return canonical(self)

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The value of a document; InputError with the place of the first violation if it does not fit."""
        return decode_document(cls, cls.schema, document)

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The value of stored bytes; InputError if they are not JSON, or do not fit."""
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError(f"{cls.schema}.json is not JSON") from None
        return cls.from_json(document)

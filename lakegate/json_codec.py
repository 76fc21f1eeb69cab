"""One codec: records to JSON, canonical bytes, digests, derived schemas."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from lakegate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

# ---- Serializes frozen values to JSON and back by their type hints, for plans, requests and results ----------------
#
# Dataclasses become objects, enums their value, `Decimal` a string, tuples arrays. The `kind` class variable of a
# dataclass becomes
# `"kind"`, the discriminator of unions. The canonical text (sorted keys, no spaces, UTF-8) gives equal values the
# same digest.


Json = typing.Any
Convert: typing.TypeAlias = Callable[[Json], Json]
DOCUMENT_NAME = "document_name"
"""Metadata of a field that has another name in documents."""
T = typing.TypeVar("T")
_PLAIN: typing.Final = frozenset({str, int, float, bool, types.NoneType})
"""Types whose values are JSON."""
_written: typing.Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def encode(value: object) -> Json:
    """The JSON form of a value, including defaults, so that documents are explicit."""
    cls: Json = type(value)
    return value if cls in _PLAIN else _encoder(cls)(value)


def decode(cls: type[T], document: Json) -> T:
    """The value of type `cls` in a JSON document that was validated with its schema before."""
    return typing.cast("T", _decoder(typing.cast("Json", cls))(document))


def canonical(value: object) -> bytes:
    """The canonical text of a value, of which digests are computed; ValueError for a number that JSON does not have."""
    return _written(encode(value)).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return sha256(canonical(value)).hexdigest()


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
    kind = cls.__dict__.get("kind")
    tag = {"kind": kind} if isinstance(kind, str) else {}
    names = [(_document_name(each), each.name) for each in fields(cls)]

    def encoded(value: Json) -> Json:
        document: dict[str, Json] = {**tag}
        for name, field in names:
            member = getattr(value, field)
            document[name] = member if type(member) in _PLAIN else encode(member)
        return document

    return encoded


def _same(value: Json) -> Json:
    return value


@cache
def _decoder(hint: Json) -> Convert:
    """The value of a document by a type hint, which is examined once."""
    origin: Json = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _union_decoder([each for each in arguments if each is not types.NoneType])
    if origin is tuple:
        element = _decoder(arguments[0])
        return lambda document: tuple(map(element, document))
    if origin is dict:
        item = _decoder(arguments[1])
        return lambda document: {key: item(each) for key, each in document.items()}
    if is_dataclass(hint):
        return partial(_decoded_dataclass, hint)
    return hint if isinstance(hint, type) and issubclass(hint, Enum | Decimal) else _same


def _union_decoder(members: list[Json]) -> Convert:
    if len(members) == 1:
        only = _decoder(members[0])
        return lambda document: None if document is None else only(document)
    by_kind = {each.kind: _decoder(each) for each in members}
    return lambda document: None if document is None else by_kind[document["kind"]](document)


def _decoded_dataclass(cls: Json, document: Json) -> object:
    return cls(**{name: decoded(document[key]) for key, name, decoded in _decoders(cls) if key in document})


@cache
def _decoders(cls: type) -> list[tuple[str, str, Convert]]:
    """Of each field: its name in documents, its name, and its decoder. Not before a value is decoded: types may be recursive."""
    hints = typing.get_type_hints(cls)
    return [(_document_name(each), each.name, _decoder(hints[each.name])) for each in fields(typing.cast("Json", cls))]


def _document_name(field: Field[Json]) -> str:
    name: str = field.metadata.get(DOCUMENT_NAME, field.name)
    return name


# ---- The base of plans, requests and results: documents with a JSON Schema, each in `lakegate/schemas` ------------


class VersionedDocument:
    """A value that is a document with a JSON Schema."""

    __slots__ = ()
    schema: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """The document."""
        document: dict[str, object] = encode(self)
        return document

    def to_bytes(self) -> bytes:
        """The canonical bytes of the document, as it is stored; equal values have equal bytes."""
        return canonical(self)

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The value of a document; InputError if it does not match the schema, or has a name that no registry contains."""
        validate(cls.schema, document)
        try:
            return decode(cls, document)
        except ValueError:
            raise InputError(f"{cls.schema}.json names a metric, a format or a compression that is unknown") from None

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The value of stored bytes; InputError if they are not JSON, or do not match the schema."""
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError(f"{cls.schema}.json is not JSON") from None
        return cls.from_json(document)

    @classmethod
    def from_validated(cls, body: bytes) -> Self:
        """The value of bytes that `from_bytes` has read before, as their digest proves: they are not validated again."""
        return decode(cls, json.loads(body))


# ---- The JSON Schemas of the documents exchanged between packages, and the validation with them --------------------


LONGEST: Final = 200
"""Characters of a step of a path, and of a requirement."""


@cache
def load(name: str) -> dict[str, object]:
    """The schema `lakegate/schemas/<name>.json`."""
    schema: dict[str, object] = json.loads((files(__package__) / "schemas" / f"{name}.json").read_bytes())
    return schema


EDITOR: Final = ("odcs-3.2.0", "odcs-3.1.0", "odcs-3.0.2", "dcs-1.2.1", "dcs-1.2.0", "dcs-1.1.0", "dcm")
"""The formats of documents that have a schema for editors; the repository DCM has none of its own."""


def for_editors(name: str) -> dict[str, object]:
    """One JSON Schema for documents of a format of `EDITOR`: the official one, and that of the `lakegate` extension."""
    extension = load("lakegate-extension")
    parts = (
        [("extension", extension)]
        if name == "dcm"
        else [("official", load(f"official/{name}")), ("extension", extension)]
    )
    return {
        "$schema": parts[0][1]["$schema"],
        "title": f"{name} with the lakegate extension",
        "type": "object",
        "allOf": [{"$ref": f"#/definitions/{key}"} for key, _ in parts],
        "definitions": {key: _below(f"#/definitions/{key}/", schema) for key, schema in parts},
    }


def _below(prefix: str, node: Any) -> Any:  # noqa: ANN401 - what a schema holds
    """A part of a schema whose references begin at another place; the part names no schema itself."""
    if isinstance(node, dict):
        found = {
            key: _below(prefix, each) for key, each in node.items() if key != "$schema" or not isinstance(each, str)
        }
        reference = found.get("$ref")
        return found | ({"$ref": prefix + reference.removeprefix("#/")} if isinstance(reference, str) else {})
    return [_below(prefix, each) for each in node] if isinstance(node, list) else node


def validate(name: str, document: object) -> None:
    """Raise InputError with the position of the first violation if a document does not match its schema."""
    error = next(iter(_judge()(load(name)).iter_errors(document)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole document"
        raise InputError(f"{name}.json does not fit its schema at {place} (rule: {error.validator})")


def problems(name: str, definition: str, document: object, most: int) -> tuple[tuple[str, str], ...]:
    """What is wrong with a document of a definition in a schema: JSON Pointer and requirement of each violation, at most `most`.

    The requirement is the schema's; it has no text of the document.
    """
    found = islice(_judge()({**load(name), "$ref": f"#/$defs/{definition}"}).iter_errors(document), most)
    return tuple((_pointer(each.absolute_path), _requirement(each)) for each in found)


@cache
def _judge() -> Any:  # noqa: ANN401 - a class of validators, as shipped
    """The validator of JSON Schema 2020-12, whose patterns end where a text ends: Python's `$` lets a line break follow."""
    from jsonschema.validators import (  # noqa: PLC0415 - 60 ms that a Lambda without documents must not pay
        Draft202012Validator,
        extend,
    )

    return extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]  # as shipped


def _pattern(_validator: object, pattern: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 - as above

    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError("does not match")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Of our own schemas, and so of a bounded number."""
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _pointer(path: Iterable[str | int]) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1")[:LONGEST] for step in path)


def _requirement(error: ValidationError) -> str:
    return f"must fit {error.validator}: {json.dumps(error.validator_value)[:LONGEST]}"

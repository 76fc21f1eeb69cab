"""Serializes frozen values to JSON and back by their type hints, for plans, requests and results.

Dataclasses become objects, enums their value, `Decimal` a string, tuples arrays. The `kind` class variable of a dataclass becomes
`"kind"`, the discriminator of unions. The canonical text (sorted keys, no spaces, UTF-8) gives equal values the same digest.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from hashlib import sha256

Json = typing.Any
DOCUMENT_NAME = "document_name"
"""Metadata of a field that has another name in documents."""
T = typing.TypeVar("T")


def encode(value: object) -> Json:
    """The JSON form of a value, including defaults, so that documents are explicit."""
    match value:
        case Enum():
            return value.value
        case Decimal():
            return format(value, "f")
        case tuple() | list():
            return [encode(each) for each in value]
        case dict():
            return {key: encode(each) for key, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            kind = type(value).__dict__.get("kind")
            tag = {"kind": kind} if isinstance(kind, str) else {}
            return tag | {_document_name(each): encode(getattr(value, each.name)) for each in fields(value)}
        case _:
            return value


def decode(cls: type[T], document: Json) -> T:
    """The value of type `cls` in a JSON document that was validated with its schema before."""
    return typing.cast("T", _decode(cls, document))


def canonical(value: object) -> bytes:
    """The canonical text of a value, of which digests are computed; ValueError for a number that JSON does not have."""
    return json.dumps(
        encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return sha256(canonical(value)).hexdigest()


def _decode(hint: Json, document: Json) -> object:
    origin: Json = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _decode_union(arguments, document)
    if origin is tuple:
        return tuple(_decode(arguments[0], each) for each in document)
    if origin is dict:
        return {key: _decode(arguments[1], each) for key, each in document.items()}
    if is_dataclass(hint):
        return _decode_dataclass(hint, document)
    if isinstance(hint, type) and issubclass(hint, Enum | Decimal):
        return hint(document)
    return document


def _decode_union(members: tuple[Json, ...], document: Json) -> object:
    if document is None:
        return None
    named = [each for each in members if each is not types.NoneType]
    if len(named) == 1:
        return _decode(named[0], document)
    return _decode({each.kind: each for each in named}[document["kind"]], document)


def _decode_dataclass(cls: Json, document: Json) -> object:
    known = _hints(cls).items()
    return cls(**{name: _decode(hint, document[key]) for key, (name, hint) in known if key in document})


@cache
def _hints(cls: type) -> dict[str, tuple[str, Json]]:
    """By the name in documents: the name of each field and its type."""
    hints = typing.get_type_hints(cls)
    return {_document_name(each): (each.name, hints[each.name]) for each in fields(typing.cast("Json", cls))}


def _document_name(field: Field[Json]) -> str:
    name: str = field.metadata.get(DOCUMENT_NAME, field.name)
    return name

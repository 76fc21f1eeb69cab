"""JSON texts, parsed with numbers as their own text. An object that has a key twice is malformed."""

from __future__ import annotations

import json
import re

from lakegate.engine.read.bounds import LONGEST_RECORD

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedError(Exception):
    """The text is not a record; the codes are those of `lakegate.contracts.judge.file_outcomes`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NumberText(str):
    """A number's own text."""

    __slots__ = ()


Value = str | bool | dict[str, "Value"] | list["Value"] | None
"""A JSON value; numbers are `Number`."""


def parsed(text: bytes) -> dict[str, Value] | None:
    """The object of a text; None for a blank text. MalformedError if it is not an object."""
    if len(text) > LONGEST_RECORD:
        raise MalformedError("too_long")
    try:
        written = text.decode()
    except UnicodeDecodeError:
        raise MalformedError("encoding") from None
    if not written.strip(" \t\r\n"):
        return None
    try:
        value = _LOADS(written)
    except (ValueError, RecursionError):
        raise MalformedError("json") from None
    if not isinstance(value, dict):
        raise MalformedError("object")
    if _SURROGATE.search(written) and not _is_text(value):
        raise MalformedError("encoding")
    return value


def _is_text(value: Value) -> bool:
    """Whether all texts can be written: half of a surrogate pair is not a character."""
    match value:
        case dict():
            return all(map(_is_text, value)) and all(map(_is_text, value.values()))
        case list():
            return all(map(_is_text, value))
        case str():
            return not any("\ud800" <= each <= "\udfff" for each in value)
        case _:
            return True


def _once(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedError("keys")
    return found


def _constant(_: str) -> Value:
    """`NaN` and the infinities, which JSON does not have."""
    raise MalformedError("json")


_LOADS = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=NumberText, parse_float=NumberText, parse_constant=_constant
).decode

"""JSON texts, parsed with numbers as their own text. An object that has a key twice is malformed."""

from __future__ import annotations

import json
import re

from lakegate.engine.read.bounds import LONGEST_RECORD

_PYTHON = re.compile(r"(?:True|False|None)\b")
_OPENINGS = frozenset({"{", "[", "[{"})
_PIECES = frozenset('"}]')
"""What lines begin with that are pieces of a text of several lines."""
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
    except json.JSONDecodeError as error:
        raise MalformedError(_fault(written.strip(), error)) from None
    except RecursionError:
        raise MalformedError("json") from None
    if not isinstance(value, dict):
        raise MalformedError("object")
    if _SURROGATE.search(written) and not _is_text(value):
        raise MalformedError("surrogate")
    return value


def fault_at(text: bytes) -> int | None:
    """The character, from 1, at which a text is no JSON; None where it is."""
    try:
        _LOADS(text.decode(errors="replace"))
    except json.JSONDecodeError as error:
        return error.pos + 1
    except (MalformedError, RecursionError):
        return None
    return None


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """Why a text is no JSON, by how it is written."""
    rest = error.doc[error.pos :].lstrip()
    before = error.doc[: error.pos].rstrip()
    if rest.startswith("'") or _PYTHON.match(rest):
        return "python"
    if rest == "," or (before.endswith(",") and rest[:1] in {"}", "]"}):
        return "comma"
    if text in _OPENINGS or text[0] in _PIECES:
        return "spread"
    if not rest or error.msg.startswith("Unterminated string"):
        return "cut"
    return "json"


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
    raise MalformedError("nan")


_LOADS = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=NumberText, parse_float=NumberText, parse_constant=_constant
).decode

"""JSON texts: objects with numbers as their own text, and the elements of an array that is read piece by piece."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator

from lakegate.engine.read.compressed_streams import Piece
from lakegate.engine.read.read_bounds import LONGEST_RECORD, unreadable

_PYTHON = re.compile(r"(?:True|False|None)\b")
_OPENINGS = frozenset({"{", "[", "[{"})
_PIECES = frozenset('"}]')
"""Beginnings of lines that are pieces of a text of several lines."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedError(Exception):
    """The text is not a record; the codes are those of `lakegate.verdict.file_checks`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NumberText(str):
    """A number's own text."""

    __slots__ = ()


Value = str | bool | dict[str, "Value"] | list["Value"] | None
"""A JSON value; numbers are `Number`."""


def parse_object(text: bytes) -> dict[str, Value] | None:
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
    """The reason why a text is no JSON, by the form in which it is written."""
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
    if error.msg == "Extra data" and before.endswith("}") and rest.startswith("{"):
        return "several"
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


# ---- Elements of arrays ----


Batch = tuple[list[bytes], int]
"""Records, and the packed bytes that were read for them."""
_SPACE = " \t\r\n"


def read_elements(pieces: Iterable[Piece]) -> Iterator[Batch]:
    """The elements of a JSON array, each as its own text; a byte order mark before it is none of it.

    UnreadableError if it is not an array, or is truncated.
    """
    array = _Array()
    taken = 0
    for piece, packed in pieces:
        taken += packed
        found = array.feed(piece)
        if found:
            yield found, taken
            taken = 0
    yield array.feed(b"", is_last=True), taken


class _Array:
    """An array that is being read: the remaining text, and what may follow."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._state = "before"

    def feed(self, piece: bytes, *, is_last: bool = False) -> list[bytes]:
        """The elements that are whole now."""
        try:
            self._text += self._decode(piece, is_last)
        except UnicodeDecodeError:
            raise unreadable("array-encoding") from None
        found: list[bytes] = []
        at, end = 0, self._step(0, found, is_last=is_last)
        while end is not None:
            at, end = end, self._step(end, found, is_last=is_last)
        self._text = self._text[at:]
        if len(self._text) > 2 * LONGEST_RECORD or (is_last and (self._state != "after" or self._text.strip(_SPACE))):
            raise unreadable("array")
        return found

    def _step(self, at: int, texts: list[bytes], *, is_last: bool) -> int | None:
        """Consume a mark or an element; the position after it, or None if the text ends before."""
        at = _PAST_SPACE(self._text, at).end()  # type: ignore[union-attr] # no space is a match too
        if at == len(self._text):
            return None
        state = _MARKS.get((self._state, self._text[at]))
        if state is not None:
            self._state = state
            return at + 1
        if self._state not in {"first", "wanted"}:
            raise unreadable("array")
        end = self._end(at, is_last=is_last)
        if end is not None:
            texts.append(self._text[at:end].encode())
            self._state = "next"
        return end

    def _end(self, at: int, *, is_last: bool) -> int | None:
        """The end of the element; a number at the end of the text may go on in the next piece."""
        try:
            end = _SCAN(self._text, at)[1]
        except RecursionError:
            raise unreadable("array-depth") from None
        except ValueError:
            if is_last or len(self._text) - at > LONGEST_RECORD:
                raise unreadable("array") from None
            return None
        return None if end == len(self._text) and not is_last else end


_SCAN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
"""Finds where an element ends; what it is made of is judged with its row."""
_PAST_SPACE = re.compile(f"[{_SPACE}]*").match
_MARKS = {("before", "["): "first", ("first", "]"): "after", ("next", "]"): "after", ("next", ","): "wanted"}

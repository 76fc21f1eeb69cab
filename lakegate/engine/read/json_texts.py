"""JSON texts: objects with numbers as their own text, and the elements of an array that is read piece by piece."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lakegate.admission.file_signatures import UnreadableError
from lakegate.admission.header import shown_key
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
# An array is the whole text, or a member of one object. What stands beside it is skipped: whole where it is short, else by its
# elements, so that no more than `2 * LONGEST_RECORD` characters are in memory.


Batch = tuple[list[bytes], int]
"""Records, and the packed bytes that were read for them."""
_SPACE = " \t\r\n"
MAX_NAMED = 5
"""Members that the message for an object without records names."""


def read_elements(pieces: Iterable[Piece], path: Sequence[str] = ()) -> Iterator[Batch]:
    """The elements of a JSON array, each as its own text; a byte order mark before it is none of it.

    `path`: names of members, from the whole object to the array; none where the array is the whole text.

    UnreadableError if there is no such array, or the text is truncated.
    """
    reader = _ElementReader(tuple(path))
    taken = 0
    for piece, packed in pieces:
        taken += packed
        found = reader.feed(piece)
        if found:
            yield found, taken
            taken = 0
    yield reader.feed(b"", is_last=True), taken


@dataclass(slots=True)
class _Container:
    """An array or object that is being read."""

    kind: str
    """The character that it begins with."""
    depth: int | None = None
    """Names of the path that lead to it; None for what is skipped."""
    state: str = "first"
    """What is expected: the `first` element or the end, `next` to one, a `wanted` one; of members also `colon` and `value`."""
    key: str = ""
    """The name of the member that is read."""
    names: list[str] = field(default_factory=list)
    """On the path, the names of the first members."""
    is_passed: bool = False
    """On the path, whether the member that leads on has been read."""


class _ElementReader:
    """A text that is being read: what remains of it, and the containers that are open."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._path = path
        self._code = "records" if path else "array"
        self._text = ""
        self._open: list[_Container] = []
        self._names: list[str] = []
        """The names of the first members of the last object on the path."""
        self._is_begun = self._has_records = False

    def feed(self, piece: bytes, *, is_last: bool = False) -> list[bytes]:
        """The elements that are whole now."""
        try:
            self._text += self._decode(piece, is_last)
        except UnicodeDecodeError:
            raise unreadable(f"{self._code}-encoding") from None
        found: list[bytes] = []
        at, end = 0, self._step(0, found, is_last=is_last)
        while end is not None:
            at, end = end, self._step(end, found, is_last=is_last)
        self._text = self._text[at:]
        is_open = not self._is_begun or self._open
        if len(self._text) > 2 * LONGEST_RECORD or (is_last and (is_open or self._text.strip(_SPACE))):
            raise self._broken()
        if is_last and not self._has_records:
            raise self._without_records()
        return found

    def _step(self, at: int, texts: list[bytes], *, is_last: bool) -> int | None:
        """Consume a mark or a value; the position after it, or None if the text ends before."""
        at = _PAST_SPACE(self._text, at).end()  # type: ignore[union-attr] # no space is a match too
        if at == len(self._text):
            return None
        mark = self._text[at]
        if not self._open:
            if self._is_begun or mark != ("{" if self._path else "["):
                raise self._broken()
            return self._enter(at, 0)
        container = self._open[-1]
        state = _MARKS.get((container.kind, container.state, mark))
        if state == "after":
            self._open.pop()
            return at + 1
        if state is not None:
            container.state = state
            return at + 1
        if container.state == "value" or (container.kind == "[" and container.state in {"first", "wanted"}):
            return self._value(container, at, texts, is_last=is_last)
        if container.kind == "[" or mark != '"' or container.state not in {"first", "wanted"}:
            raise self._broken()
        return self._key(container, at, is_last=is_last)

    def _enter(self, at: int, depth: int | None) -> int:
        """Begin an array or object."""
        self._is_begun = True
        self._has_records = self._has_records or depth == len(self._path)
        container = _Container(self._text[at], depth)
        if depth is not None and container.kind == "{":
            self._names = container.names
        self._open.append(container)
        return at + 1

    def _key(self, container: _Container, at: int, *, is_last: bool) -> int | None:
        found = self._scan(at, is_last=is_last)
        if found is None:
            if len(self._text) - at > LONGEST_RECORD:
                raise self._broken()
            return None
        container.key, end = str(found[0]), found[1]
        if container.depth is not None and len(container.names) <= MAX_NAMED:
            container.names.append(container.key)
        container.state = "colon"
        return end

    def _value(self, container: _Container, at: int, texts: list[bytes], *, is_last: bool) -> int | None:
        """Consume an element of the records, or what is skipped; or enter what leads to them."""
        if container.depth is not None and container.kind == "{" and container.key == self._path[container.depth]:
            depth = container.depth + 1
            if container.is_passed:
                raise self._broken()
            container.is_passed = True
            if self._text[at] != ("[" if depth == len(self._path) else "{"):
                raise self._without_records()
            container.state = "next"
            return self._enter(at, depth)
        found = self._scan(at, is_last=is_last)
        is_record = container.depth is not None and container.kind == "["
        if found is not None:
            container.state = "next"
            return self._records(container, at, found[1], texts, is_last=is_last) if is_record else found[1]
        if len(self._text) - at <= LONGEST_RECORD:
            return None
        if is_record or self._text[at] not in "[{":
            raise self._broken()
        container.state = "next"
        return self._enter(at, None)

    def _records(self, container: _Container, at: int, end: int, texts: list[bytes], *, is_last: bool) -> int:
        """Consume a record, and those behind it that are whole: they take most of the time."""
        texts.append(self._text[at:end].encode())
        while (comma := _COMMA(self._text, end)) is not None and comma.end() < len(self._text):
            at = comma.end()
            found = self._scan(at, is_last=is_last)
            if found is None:
                container.state = "wanted"
                return at
            end = found[1]
            texts.append(self._text[at:end].encode())
        return end

    def _scan(self, at: int, *, is_last: bool) -> tuple[object, int] | None:
        """The value at a position and its end; None where the text ends before, or a number at its end may go on."""
        try:
            value, end = _SCAN(self._text, at)
        except RecursionError:
            raise unreadable(f"{self._code}-depth") from None
        except ValueError:
            if is_last:
                raise self._broken() from None
            return None
        return None if end == len(self._text) and not is_last else (value, end)

    def _broken(self) -> UnreadableError:
        return unreadable(self._code)

    def _without_records(self) -> UnreadableError:
        names = [shown_key(name) for name in self._names[:MAX_NAMED]]
        more = " and others" if len(self._names) > MAX_NAMED else ""
        members = f"; there are {', '.join(names)}{more}" if names else ""
        return unreadable("no-records", path=".".join(self._path), members=members)


_SCAN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
"""Finds where a value ends; what it is made of is judged with its row."""
_COMMA = re.compile(f"[{_SPACE}]*,[{_SPACE}]*").match
_PAST_SPACE = re.compile(f"[{_SPACE}]*").match
_MARKS = {
    ("[", "first", "]"): "after",
    ("[", "next", "]"): "after",
    ("[", "next", ","): "wanted",
    ("{", "first", "}"): "after",
    ("{", "next", "}"): "after",
    ("{", "next", ","): "wanted",
    ("{", "colon", ":"): "value",
}
"""The next state of a container, by its kind, its state and a mark."""

"""The file format in the servers of a document: the default, which the `lakegate` extension overrides.

A server describes the data that consumers read. Accepted data is published unchanged, so that a format on which all servers agree
is that of the deliveries too. A format is never replaced by another one (decision 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import FORMATS, Format

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Place

_CHARACTERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}
"""Delimiters by their names."""
_JSON = {"new_line": Format.JSONL, "newline": Format.JSONL, "array": Format.JSON}
"""The JSON format by the `delimiter` of a server; without one the first character of a file decides."""


def served(servers: Place) -> Format | None:
    """The format that all servers declare; UNKNOWN if two differ or one is not supported; None if none declares one."""
    places = (*servers.items, *servers.entries.values())
    named = {_format(each) for each in places if each["format"].present}
    return named.pop() if len(named) == 1 else Format.UNKNOWN if named else None


def delimiter_of(servers: Place) -> str | None:
    """The delimiter that all servers of CSV declare; None if two differ, or one declares none of a single character."""
    places = [each for each in (*servers.items, *servers.entries.values()) if _format(each) is Format.CSV]
    named = {_CHARACTERS.get(word.lower(), word) for each in places if (word := each["delimiter"].text)}
    (only,) = named if len(named) == 1 else ("",)
    return only if len(only) == 1 and only.isprintable() | (only == "\t") else None


def _format(server: Place) -> Format:
    word = (server["format"].text or "").strip().lower()
    if word == Format.JSON.value:
        return _JSON.get((server["delimiter"].text or "").strip().lower(), Format.ANY_JSON)
    found = (each for each, spec in FORMATS.items() if word in {each.value, *spec.aliases})
    return next(found, Format.UNKNOWN)

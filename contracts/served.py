"""The form of files as the servers of a document name it: a default, which the `lakegate` extension overrides.

A server says where consumers find the data. What is accepted is published as it came, so that what they find is what was
delivered: a format on which all servers agree is the deliveries' too (decision 86). A format is never replaced by another one
(decision 106).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.model import Format

if TYPE_CHECKING:
    from contracts.nodes import Place

_JSON = {"new_line": Format.JSONL, "newline": Format.JSONL, "array": Format.JSON}
"""What the delimiter of a server says of its JSON; without one the first character of a file decides."""
_FORMATS = {
    **{each.value: each for each in Format if each is not Format.UNKNOWN},
    **dict.fromkeys(("ndjson", "json-lines", "jsonlines", "json_lines"), Format.JSONL),
}


def served(servers: Place) -> Format | None:
    """The format that all servers name, UNKNOWN where two differ or one is not read here; None where none names one."""
    places = (*servers.items, *servers.entries.values())
    named = {_format(each) for each in places if each["format"].present}
    return named.pop() if len(named) == 1 else Format.UNKNOWN if named else None


def _format(server: Place) -> Format:
    word = (server["format"].text or "").strip().lower()
    if word == Format.JSON.value:
        return _JSON.get((server["delimiter"].text or "").strip().lower(), Format.ANY_JSON)
    return _FORMATS.get(word, Format.UNKNOWN)

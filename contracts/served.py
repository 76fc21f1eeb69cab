"""The form of files as the servers of a document tell it: a default, which the `lakegate` extension wins over.

A server says where consumers find the data. What is accepted is published as it came, so that what they find is what was
delivered: a format on which all servers agree is the deliveries' too (decision 86).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.model import Format

if TYPE_CHECKING:
    from contracts.nodes import Place

_JSON = {"new_line": Format.JSONL, "newline": Format.JSONL, "array": Format.JSON}
"""What the delimiter of a server says of its JSON; without one it is not told."""


def served(servers: Place) -> Format | None:
    """The format that all servers say; None where none says one, one is not read here, or two differ."""
    places = (*servers.items, *servers.entries.values())
    said = {_format(each) for each in places if each["format"].present}
    return said.pop() if len(said) == 1 else None


def _format(server: Place) -> Format | None:
    word = (server["format"].text or "").strip().lower()
    if word == Format.JSON.value:
        return _JSON.get((server["delimiter"].text or "").strip().lower())
    return Format(word) if word in {each.value for each in Format} else None

"""Keys that the roots of all formats have: texts, tags, servers with the format of their files, deprecation."""

from __future__ import annotations

from collections.abc import Collection

from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import About, Deprecation, Server
from lakegate.contract.documents.document_tree import Notes, Place, exact, texts
from lakegate.contract.documents.key_table import ABOUT, Family, texts_at
from lakegate.contract.file_formats import FORMATS, Format

DEPRECATION = "deprecation"
DEPRECATION_KEYS = ("announced", "sunset_date", "replacement", "migration_guide", "reason")
COMMON_KEYS = ("tags", "servers", DEPRECATION)


def about(top: Place, notes: Notes, read_keys: Collection[str], family: Family) -> About:
    """The contents of the root; a tag is a text or, in DCM, a mapping with the key `tagFQN`.

    `read_keys` are the keys that the format's reader has read.
    """
    sections = {key: exact(place) for key, place in top.entries.items() if key not in {*read_keys, *COMMON_KEYS}}
    return About(
        **texts_at(top, ABOUT, family),
        tags=(*texts(top["tags"]), *(tag for item in top["tags"].items if (tag := item["tagFQN"].text))),
        servers=(
            *(_server(item, item["server"].text or "") for item in top["servers"].items),
            *(_server(entry, name) for name, entry in top["servers"].entries.items()),
        ),
        deprecation=_deprecation(top[DEPRECATION], notes),
        sections=sections,
    )


def _server(place: Place, name: str) -> Server:
    """A server of a list (ODCS) or of a mapping by name (DCS)."""
    settings = {key: exact(entry) for key, entry in place.entries.items() if key not in {"server", "type"}}
    return Server(name, place["type"].text or "", settings, place.origin)


def _deprecation(place: Place, notes: Notes) -> Deprecation | None:
    """The `deprecation` block of ADR-0029. ODCS has no schema for it, so its keys are checked here."""
    if not place.present:
        return None
    for key, entry in place.entries.items():
        if key not in DEPRECATION_KEYS:
            hint = did_you_mean(key, DEPRECATION_KEYS) or f" Known are {join_words(DEPRECATION_KEYS)}."
            notes.error("deprecation-key", entry, f"The key {quote(key)} is unknown in `deprecation`.{hint}")
        elif entry.text is None:
            notes.error("deprecation-value", entry, f"`{key}` is a text: write it in quotes.")
    if not place.entries:
        notes.error("deprecation-value", place, f"Write a mapping here, of {join_words(DEPRECATION_KEYS)}.")
    return Deprecation(place.origin, **{key: place[key].text for key in DEPRECATION_KEYS})


# ---- The file format of the servers ----
# A server describes the data that consumers read. Accepted data is published unchanged, so that a format on which all servers
# agree is that of the deliveries too. A format is never replaced by another one (decision 2).


_CHARACTERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}
"""Delimiters by their names."""
_JSON = {"new_line": Format.JSONL, "newline": Format.JSONL, "array": Format.JSON}
"""The JSON format by the `delimiter` of a server; without one the first character of a file decides."""


def served_format(servers: Place) -> Format | None:
    """The format that all servers declare; UNKNOWN if two differ or one is not supported; None if none declares one."""
    places = (*servers.items, *servers.entries.values())
    named = {_format(place) for place in places if place["format"].present}
    return named.pop() if len(named) == 1 else Format.UNKNOWN if named else None


def delimiter_of(servers: Place) -> str | None:
    """The delimiter that all servers of CSV declare; None if two differ, or one declares none of a single character."""
    places = [entry for entry in (*servers.items, *servers.entries.values()) if _format(entry) is Format.CSV]
    named = {_CHARACTERS.get(word.lower(), word) for place in places if (word := place["delimiter"].text)}
    (only,) = named if len(named) == 1 else ("",)
    return only if len(only) == 1 and only.isprintable() | (only == "\t") else None


def _format(server: Place) -> Format:
    word = (server["format"].text or "").strip().lower()
    if word == Format.JSON.value:
        return _JSON.get((server["delimiter"].text or "").strip().lower(), Format.ANY_JSON)
    keys = (key for key, spec in FORMATS.items() if word in {key.value, *spec.aliases})
    return next(keys, Format.UNKNOWN)

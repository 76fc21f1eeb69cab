"""Reads the root of a document except its datasets: servers, deprecation (ADR-0029) and all other keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.documents.values import exact, texts
from lakegate.contracts.model.contract import About, Deprecation, Server
from lakegate.contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes

DEPRECATION = "deprecation"
DEPRECATION_KEYS = ("announced", "sunset_date", "replacement", "migration_guide", "reason")
COMMON_KEYS = ("tags", "servers", DEPRECATION)


def about(top: Place, notes: Notes, read_keys: Collection[str], **fields: str | None) -> About:
    """The contents of the root; a tag is a text or, in DCM, a mapping with the key `tagFQN`.

    `read_keys` are the keys that the format's reader has read, `fields` their contents.
    """
    sections = {key: exact(place) for key, place in top.entries.items() if key not in {*read_keys, *COMMON_KEYS}}
    return About(
        **fields,
        tags=(*texts(top["tags"]), *(tag for each in top["tags"].items if (tag := each["tagFQN"].text))),
        servers=tuple(_servers(top["servers"])),
        deprecation=_deprecation(top[DEPRECATION], notes),
        sections=sections,
    )


def _servers(place: Place) -> Iterator[Server]:
    """The servers of a list (ODCS) or of a mapping by name (DCS)."""
    for each in place.items:
        yield _server(each, each["server"].text or "")
    for name, each in place.entries.items():
        yield _server(each, name)


def _server(place: Place, name: str) -> Server:
    settings = {key: exact(each) for key, each in place.entries.items() if key not in {"server", "type"}}
    return Server(name, place["type"].text or "", settings, place.origin)


def _deprecation(place: Place, notes: Notes) -> Deprecation | None:
    """The `deprecation` block of ADR-0029. ODCS has no schema for it, so its keys are checked here."""
    if not place.present:
        return None
    for key, each in place.entries.items():
        if key not in DEPRECATION_KEYS:
            hint = did_you_mean(key, DEPRECATION_KEYS) or f" Known are {listed(DEPRECATION_KEYS)}."
            notes.error("deprecation-key", each, f"The key {shown(key)} is unknown in `deprecation`.{hint}")
        elif each.text is None:
            notes.error("deprecation-value", each, f"`{key}` is a text: write it in quotes.")
    if not place.entries:
        notes.error("deprecation-value", place, f"Write a mapping here, of {listed(DEPRECATION_KEYS)}.")
    return Deprecation(place.origin, **{key: place[key].text for key in DEPRECATION_KEYS})

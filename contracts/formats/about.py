"""Reads what a document says beside its datasets: servers, the end of its life (ADR-0029), and every other key of its root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.formats.values import exact, texts
from contracts.model import About, Deprecation, Server
from contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from contracts.formats.notes import Notes
    from contracts.nodes import Place

DEPRECATION = "deprecation"
DEPRECATION_KEYS = ("announced", "sunset_date", "replacement", "migration_guide", "reason")
TOLD = ("tags", "servers", DEPRECATION)


def about(top: Place, notes: Notes, told: Collection[str], **words: str | None) -> About:
    """What the root says; `told` are the keys that the format's reader has read, `words` what it found in them."""
    sections = {key: exact(place) for key, place in top.entries.items() if key not in {*told, *TOLD}}
    return About(
        **words,
        tags=texts(top["tags"]),
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
    """ADR-0029's block, which the standard's own schema does not know: its keys are judged here."""
    if not place.present:
        return None
    for key, each in place.entries.items():
        if key not in DEPRECATION_KEYS:
            hint = did_you_mean(key, DEPRECATION_KEYS) or f" Known are {listed(DEPRECATION_KEYS)}."
            notes.error("deprecation-key", each, f"The key {shown(key)} is not known to a deprecation.{hint}")
        elif each.text is None:
            notes.error("deprecation-value", each, f"`{key}` is a text: write it in quotes.")
    if not place.entries:
        notes.error("deprecation-value", place, f"Write a mapping here, of {listed(DEPRECATION_KEYS)}.")
    return Deprecation(place.origin, **{key: place[key].text for key in DEPRECATION_KEYS})

"""The jars of the project: which, under what name, and their checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).with_name("jars.json")


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar as it must lie in `.tools/jars`."""

    file: str
    coordinate: str
    """`group:artifact:version`, as package resolvers write it."""
    sha256: str
    """Lower-case hexadecimal digest of the file's bytes."""


def pinned_jars(pins: Path = PINS) -> tuple[Jar, ...]:
    """Every jar that the local Spark is given, Deequ's first."""
    return tuple(Jar(**pin) for pin in json.loads(pins.read_text()))

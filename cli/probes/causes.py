"""The causes that `lakegate doctor` recognises: the rows of causes.yaml, and a row as it was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping


class Level(StrEnum):
    """How much a finding matters."""

    FAULT = "fault"
    """Deliveries are stuck, or will be."""
    WARNING = "warning"
    """Deliveries move; a person should still know."""


@dataclass(frozen=True, slots=True)
class CauseFinding:
    """One cause that was found."""

    cause: str
    level: Level
    text: str
    remedy: str
    workload: str = ""
    """The workload that it holds up; empty for the stack."""


@dataclass(frozen=True, slots=True)
class KnownCause:
    """A row of the table: what the cause means, and what to do; both with places for names."""

    code: str
    text: str
    remedy: str
    level: Level

    def found(self, workload: str = "", **names: object) -> CauseFinding:
        """The cause as it was found."""
        return CauseFinding(self.code, self.level, self.text.format(**names), self.remedy.format(**names), workload)


def _read() -> Mapping[str, KnownCause]:
    rows = yaml.safe_load((Path(__file__).parent / "causes.yaml").read_text(encoding="utf-8"))
    return {
        code: KnownCause(code, row["text"], row["remedy"], Level(row.get("level", Level.FAULT)))
        for code, row in rows.items()
    }


CAUSES: Final = _read()

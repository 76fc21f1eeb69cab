"""What a lint function yields, and how one is described in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from contracts.document import Document
from contracts.model import Contract

Finding = tuple[str, str]
"""Path and sentence. Of a path the document holds only in part, the part it holds is told."""


MOST_OF_ONE = 100
"""Findings of one code that are told: a hint for each of thousands would take minutes, and nobody reads them."""


class Level(Enum):
    """Whether a finding keeps a contract from being used."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Lint:
    """One code: how grave it is, and the function that finds it."""

    level: Level
    find: Callable[[Contract, Document], Iterator[Finding]]

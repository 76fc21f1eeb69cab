"""Errors and warnings of the readers and the linter, with their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.errors import Problem

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Place


MOST_NOTED = 5_000
"""Errors, and warnings, of one document: a hostile one has millions."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Collects problems, the first ones of each kind."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def blames(self, place: Place) -> bool:
        """Whether a place or a part of it has an error: then no further problem is reported for it."""
        path = place.path
        return any(each.path == path or each.path.startswith((f"{path}.", f"{path}[")) for each in self.errors)

    def error(self, code: str, place: Place, message: str) -> None:
        """Add an error: the document cannot be used."""
        self._add(self.errors, code, place, message)

    def warning(self, code: str, place: Place, message: str) -> None:
        """Add a warning: the document can be used."""
        self._add(self.warnings, code, place, message)

    @staticmethod
    def _add(problems: list[Problem], code: str, place: Place, message: str) -> None:
        if len(problems) < MOST_NOTED:
            problems.append(Problem(code, place.path, place.mark.line, message))

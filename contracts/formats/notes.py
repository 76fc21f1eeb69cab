"""What a reader or the linter found: errors and warnings, each at its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contracts.errors import Problem

if TYPE_CHECKING:
    from contracts.nodes import Place


@dataclass(frozen=True, slots=True)
class Notes:
    """Collects problems; whoever collects decides what becomes of them."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def blames(self, place: Place) -> bool:
        """Whether an error is noted of a place, or of a part of it: then nothing more is said of it."""
        path = place.path
        return any(each.path == path or each.path.startswith((f"{path}.", f"{path}[")) for each in self.errors)

    def error(self, code: str, place: Place, message: str) -> None:
        """Note what keeps the document from being used."""
        self.errors.append(Problem(code, place.path, place.mark.line, message))

    def warning(self, code: str, place: Place, message: str) -> None:
        """Note what a person should know, though the document can be used."""
        self.warnings.append(Problem(code, place.path, place.mark.line, message))

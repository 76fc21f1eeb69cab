"""Fields of DCS and the definitions they refer to (`$ref: '#/definitions/order_id'`): the first layer with a key wins.

Nothing is copied, so that problems of a definition are reported at the definition. The number of fields and levels reached
through references is limited, because definitions that refer to each other can grow exponentially. In ODCS and DCM the document
is expanded before it is read (`lakegate.contracts.documents.definitions`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.documents.composer import DEEPEST_LEVEL, MAX_NODES, MOST_CHARACTERS
from lakegate.contracts.documents.definition_files import outside
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes

REFERENCE = "$ref"
INSIDE = "#/"
DEFINITIONS = "#/definitions/"
MAX_FIELDS = 5_000


@dataclass(frozen=True, slots=True)
class Layers:
    """A field, followed by the definitions it refers to."""

    places: tuple[Place, ...]
    trail: tuple[str, ...] = ()
    """The paths of the definitions that led here, including those of the enclosing fields."""
    level: int = 0
    """The number of enclosing fields."""

    def __getitem__(self, key: str) -> Place:
        """The value of a key in the first layer that has it."""
        for each in self.places:
            found = each[key]
            if found.present:
                return found
        return self.places[0][key]

    @property
    def own(self) -> Place:
        """The field itself."""
        return self.places[0]


@dataclass(slots=True)
class Definitions:
    """The definitions of a document, and counts of what was read through them."""

    document: Document
    notes: Notes
    used: set[str] = field(default_factory=set)
    read: int = 0
    """Fields reached through references."""
    nodes: int = 0
    """Nodes of the definitions that references lead to, each as often as one leads there."""
    characters: int = 0
    """The characters of their texts."""

    @property
    def top(self) -> Place:
        """The root of the document."""
        return self.document.top

    def layers(self, place: Place, around: Layers | None = None) -> Layers | None:
        """A field with its definitions; None, with an error noted, if a limit is exceeded."""
        level = around.level + 1 if around is not None else 0
        self.read += around is not None and bool(around.trail)
        if self.read > MAX_FIELDS or level > DEEPEST_LEVEL:
            self._refuse_more(place, f"{MAX_FIELDS:,} fields or {DEEPEST_LEVEL} levels of them")
            return None
        places, trail = [place], list(around.trail if around is not None else ())
        while (reference := places[-1][REFERENCE]).present:
            found = self._found(reference)
            if found is None:
                break
            if found.path in trail:
                self.notes.error("circular-reference", reference, f"{shown(reference.text)} leads back to itself.")
                break
            places.append(found)
            trail.append(found.path)
            self.nodes += found.node.size if found.node else 0
            self.characters += found.node.characters if found.node else 0
            if self.nodes > MAX_NODES or self.characters > MOST_CHARACTERS or len(places) > DEEPEST_LEVEL:
                most = (
                    f"{MAX_NODES:,} values, {MOST_CHARACTERS:,} characters or {DEEPEST_LEVEL} definitions of one field"
                )
                self._refuse_more(place, most)
                return None
        return Layers(tuple(places), tuple(trail), level)

    def _refuse_more(self, place: Place, most: str) -> None:
        if all(problem.code != "too-many-fields" for problem in self.notes.errors):
            self.notes.error("too-many-fields", place, f"References lead to more than {most}: flatten them.")

    def _found(self, reference: Place) -> Place | None:
        """The definition a reference points to: by its whole name (which may contain `/`), else step by step."""
        text = reference.text or ""
        if not text.startswith(INSIDE):
            self.notes.error("external-reference", reference, outside(reference, self.document))
            return None
        found = self.top["definitions"][text.removeprefix(DEFINITIONS)]
        if not found.present:
            found = _followed(self.top, text)
        if not found.entries:
            self.notes.error(
                "dangling-reference", reference, f"{shown(text)} names no definition here.{self._hint(text)}"
            )
            return None
        self.used.add(found.path)
        return found

    def _hint(self, text: str) -> str:
        """A hint at a similar name."""
        return did_you_mean(text, [DEFINITIONS + each for each in self.top["definitions"].entries])


def _followed(top: Place, pointer: str) -> Place:
    place = top
    for step in pointer.removeprefix(INSIDE).split("/"):
        place = place[step.replace("~1", "/").replace("~0", "~")]
    return place

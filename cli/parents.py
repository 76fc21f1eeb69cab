"""The contracts that documents of this machine inherit from: files beside them, given files and folders, and the registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli.inputs import STANDARD_INPUT, SUFFIXES, InputDocument, sources
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.inherit.resolve import ParentDocument, identity_of
from lakegate.contracts.lake.versions import is_release, major, precedence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.inherit.resolve import Parents

ParentPaths: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--parents",
        help="A file or folder with contracts to inherit from; by default the folder of the document.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ParentPlaces:
    """Where parents are searched, beside the folder of the document."""

    paths: tuple[Path, ...] = ()
    """Files and folders; if there are any, the folder of the document is not searched."""

    @staticmethod
    def of(paths: list[Path] | None) -> ParentPlaces:
        """The places of a command's options."""
        return ParentPlaces(tuple(paths or ()))

    def parents(self, document: str) -> Parents:
        """Finds the highest release of a major number in the files; the folders are read when a document inherits."""
        folder = Path() if document == STANDARD_INPUT else Path(document).parent
        paths = [str(each) for each in self.paths]

        def find(contract: str, line: int) -> ParentDocument | None:
            found = {
                version: text
                for (name, version), text in _identified(sources(paths) if paths else _beside(folder))
                if name == contract and is_release(version) and major(version) == line
            }
            newest = max(found, key=precedence, default=None)
            return None if newest is None else ParentDocument(found[newest], find)

        return find


def _beside(folder: Path) -> Iterator[InputDocument]:
    files = folder.iterdir() if folder.is_dir() else ()
    names = sorted(str(each) for each in files if each.suffix in SUFFIXES and each.is_file())
    return (InputDocument(each, found=True) for each in names)


def _identified(documents: Iterable[InputDocument]) -> Iterator[tuple[tuple[str, str], bytes]]:
    """The contracts of documents, with id and version; what is not a contract is left out."""
    for each in documents:
        text = each.read()
        try:
            identity = identity_of(text)
            precedence(identity[1])
        except (ContractError, InputError):
            continue
        yield identity, text

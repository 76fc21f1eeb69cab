"""The contracts that documents of this machine inherit from: files beside them, given files and folders, and the registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli.extras import advice
from lakegate.cli.inputs import STANDARD_INPUT, SUFFIXES, InputDocument, sources
from lakegate.contracts.errors import ContractError, InputError, LakegateError
from lakegate.contracts.inherit.resolve import ParentDocument, identity_of
from lakegate.contracts.lake.versions import is_release, major, precedence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.inherit.resolve import Parents

ParentPaths: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--parents",
        help="A file or folder with contracts to inherit from; by default the folder of the document, then the registry.",
        show_default=False,
    ),
]


@dataclass(slots=True)
class StackRegistry:
    """The registry of a stack, which is opened for the first parent that no file has."""

    stack: str
    local: bool
    _fault: str = field(default="", init=False)
    """Why it cannot be read: it is not asked again."""

    def parents(self, text: bytes) -> Parents:
        """Finds the parents of a document as `lakegate publish` does. InputError where the registry cannot be read."""

        def find(contract: str, line: int) -> ParentDocument | None:
            try:
                if not self._fault:
                    # boto3 is another extra, and takes longer to import than a document to lint
                    from lakegate.cli.inheriting import registry_documents  # noqa: PLC0415

                    return registry_documents(self.stack, text, local=self.local).parents(contract, line)
            except LakegateError as error:
                self._fault = str(error)
            except ModuleNotFoundError as error:
                self._fault = advice(error) or ""
                if not self._fault:
                    raise
            raise InputError(
                f"no file has it, and the registry of the stack {self.stack} cannot be read ({self._fault}):"
                " give its file with --parents, or name another stack with --stack"
            )

        return find


@dataclass(frozen=True, slots=True)
class ParentPlaces:
    """Where parents are searched, beside the folder of the document."""

    paths: tuple[Path, ...] = ()
    """Files and folders; if there are any, the folder of the document is not searched."""
    registry: StackRegistry | None = None
    """Where a parent is searched that no file has."""

    @staticmethod
    def of(paths: list[Path] | None, stack: str, *, local: bool) -> ParentPlaces:
        """The places of a command's options."""
        return ParentPlaces(tuple(paths or ()), StackRegistry(stack, local))

    def parents(self, document: str, text: bytes) -> Parents:
        """Finds the highest release of a major number, first in the files; they are read when a document inherits."""
        folder = Path() if document == STANDARD_INPUT else Path(document).parent
        paths = [str(each) for each in self.paths]
        published = None if self.registry is None else self.registry.parents(text)

        def find(contract: str, line: int) -> ParentDocument | None:
            found = {
                version: body
                for (name, version), body in _identified(sources(paths) if paths else _beside(folder))
                if name == contract and is_release(version) and major(version) == line
            }
            newest = max(found, key=precedence, default=None)
            if newest is not None:
                return ParentDocument(found[newest], find)
            return None if published is None else published(contract, line)

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

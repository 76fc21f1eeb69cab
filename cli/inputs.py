"""Contract documents as a person names them: files, folders, or `-` for standard input."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = (1 << 20) + 1
"""One more than any contract may have: enough to refuse it."""


@dataclass(frozen=True, slots=True)
class InputDocument:
    """A document to read."""

    name: str
    found: bool = False
    """Whether a folder held it; then it may be no contract at all."""

    def read(self) -> bytes:
        """Its first bytes, enough to judge it; InputError where it cannot be read."""
        if self.name == STANDARD_INPUT:
            return _beginning(sys.stdin.buffer)
        try:
            with Path(self.name).open("rb") as file:
                return with_definitions(_beginning(file), below(Path(self.name).parent))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the name holds a NUL character"
            raise InputError(f"{self.name} cannot be read: {reason}.") from error


def sources(names: list[str]) -> Iterator[InputDocument]:
    """The documents that files, folders and `-` name; InputError for a folder that holds none."""
    for name in names:
        if name != STANDARD_INPUT and _is_folder(name):
            yield from _inside(Path(name))
        else:
            yield InputDocument(name)


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _inside(folder: Path) -> Iterator[InputDocument]:
    """The files of a folder and of those below it, hidden ones (`.git`, `.venv`) left out."""
    found = False
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in sorted(each for each in files if each.endswith(SUFFIXES) and not each.startswith(".")):
            found = True
            name = os.path.join(path, each)  # noqa: PTH118 -- keeps the name as the person wrote it
            if not Path(name).is_file():
                sys.stderr.write(f"lakegate: {printable(name)} is no file, passed over\n")
            elif not Path(name).resolve().is_relative_to(folder.resolve()):
                sys.stderr.write(f"lakegate: {printable(name)} is a link that leaves the folder, passed over\n")
            else:
                yield InputDocument(name, found=True)
    if not found:
        raise InputError(f"{folder} holds no {', '.join(SUFFIXES)} file.")


def with_definitions(text: bytes, read: Callable[[str], bytes]) -> bytes:
    """A contract document with the definitions of files that it uses (`lakegate.contracts.documents.definition_files`)."""
    if b"$ref" not in text:
        return text
    from lakegate.contracts.documents.definition_files import bundled  # noqa: PLC0415 -- yaml, for such documents alone
    from lakegate.contracts.lint.examine import declares_format  # noqa: PLC0415 -- likewise

    return bundled(text, read) if declares_format(text) else text


def below(folder: Path) -> Callable[[str], bytes]:
    """Reads files below a folder, and nothing that a link leads to outside of it."""

    def read(name: str) -> bytes:
        try:
            path = (folder / name).resolve(strict=True)
            if not path.is_relative_to(folder.resolve()):
                raise InputError("the file is a link that leaves the folder of the document")
            if not path.is_file():
                raise InputError("this is no file")
            with path.open("rb") as file:
                return _beginning(file)
        except (OSError, RuntimeError) as error:  # a circle of links
            reason = getattr(error, "strerror", None) or "the links lead in a circle"
            raise InputError(f"the file cannot be read: {reason}") from None

    return read


def _beginning(file: BinaryIO) -> bytes:
    return file.read(MAX_BYTES)

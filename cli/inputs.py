"""Contract documents as a person names them: files, folders, or `-` for standard input."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
MOST_BYTES = (1 << 20) + 1
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
                return _beginning(file)
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
            yield InputDocument(os.path.join(path, each), found=True)  # noqa: PTH118 -- keeps the name as the person wrote it
    if not found:
        raise InputError(f"{folder} holds no {', '.join(SUFFIXES)} file.")


def _beginning(file: BinaryIO) -> bytes:
    return file.read(MOST_BYTES)

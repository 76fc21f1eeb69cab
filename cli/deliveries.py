"""The files of one delivery as a person names them: files, folders and patterns."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path

from contracts.errors import InputError

_MARKERS = ("_", ".")
"""How names begin that writers put beside their data: `_SUCCESS`, `_temporary`, `.part-0.crc`."""


def files_of(names: list[Path]) -> list[Path]:
    """The files that names stand for, those of a folder or a pattern in the order of their names.

    InputError for a folder without files, and for a pattern that nothing matches.
    """
    return [file for name in names for file in _files(name)]


def _files(name: Path) -> list[Path]:
    if name.is_dir():
        inside = (path.relative_to(name) for path in name.rglob("*") if path.is_file())
        found = sorted(name / path for path in inside if not any(part.startswith(_MARKERS) for part in path.parts))
        if not found:
            raise InputError(f"{name} holds no files: name a folder with data, or the files")
        return found
    if has_magic(str(name)) and not name.exists():
        matched = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = sorted(path for path in matched if path.is_file())
        if not found:
            raise InputError(f"nothing matches {name}: name a file, a folder or another pattern")
        return found
    return [name]

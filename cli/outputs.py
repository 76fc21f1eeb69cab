"""Files that a command writes because an option names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def usable(option: str, path: Path, suffixes: tuple[str, ...], inputs: Iterable[Path]) -> None:
    """InputError where an option's file cannot be written, before any work is done for it; no input is overwritten."""
    if path.suffix not in suffixes:
        raise InputError(f"{option} {path}: name a file that ends in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise InputError(f"{option} {path}: this is a folder")
    if path.exists() and any(each.exists() and each.samefile(path) for each in inputs):
        raise InputError(f"{option} {path}: this file is read by the command; name another one")


def write_text(option: str, path: Path, text: str) -> None:
    """Write the file. InputError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written: {error.strerror}") from error

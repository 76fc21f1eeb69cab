"""Names of contracts and datasets: they become folders of the lake, keys of tables and parts of addresses."""

from __future__ import annotations

from lakegate.contracts.errors import InputError

LONGEST_NAME = 128
"""Bytes: contract, dataset and line together stay far below what a key may have."""


def is_usable(name: str) -> bool:
    """Whether a contract or dataset can have this name; the leading underscore is reserved."""
    bad = "/" in name or not name.isprintable() or name.startswith(("_", ".")) or name != name.strip()
    return bool(name) and not bad and len(name.encode()) <= LONGEST_NAME


def refuse_unusable(name: str) -> None:
    """Raise InputError for a name that cannot be a folder of the lake."""
    if not is_usable(name):
        raise InputError(
            f"the name {name!r} cannot be a folder of the lake: at most {LONGEST_NAME} bytes, no slash, no leading dot or _"
        )

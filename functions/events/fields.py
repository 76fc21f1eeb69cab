"""Reads the fields of an event document. A path names where it stopped making sense; no error holds text of the document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lakegate.functions.events.hints import RefusalReason, UnintelligibleError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_KEY_BYTES: Final = 1024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_VERSION: Final = re.compile(r"[!-~]{1,1024}", re.ASCII)
"""S3's version ids: opaque, URL-ready, at most 1,024 bytes."""
_ID: Final = re.compile(r"[0-9a-z]{1,64}")


def mapping(value: object, path: str) -> Mapping[str, object]:
    """The value as a JSON object; UnintelligibleError for any other."""
    if not isinstance(value, dict):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def text(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The text at a dotted path; UnintelligibleError if it is missing, or not a text."""
    value: object = document
    for name in dotted.split("."):
        inner = mapping(value, path)
        path = f"{path}.{name}"
        if name not in inner:
            raise UnintelligibleError(RefusalReason.MISSING_FIELD, path)
        value = inner[name]
    if not isinstance(value, str):
        raise UnintelligibleError(RefusalReason.WRONG_TYPE, path)
    return value


def bucket(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The bucket name at a dotted path, by S3's rules for names."""
    name = text(document, path, dotted)
    if not _BUCKET.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_BUCKET, f"{path}.{dotted}")
    return name


def version_of(described: Mapping[str, object], name: str) -> tuple[str, int]:
    """Version id and bytes of an object that a document describes; empty and 0 for what it lacks, or states in another form.

    `name`: the key of the version id. Neither is necessary: which versions exist is read from the bucket.
    """
    version, size = described.get(name), described.get("size")
    is_version = isinstance(version, str) and version != "null" and _VERSION.fullmatch(version)
    return str(version) if is_version else "", size if type(size) is int and size > 0 else 0


def identifier(document: Mapping[str, object], path: str, dotted: str) -> str:
    """The id of an application or job run at a dotted path: at most 64 digits and lower-case letters."""
    name = text(document, path, dotted)
    if not _ID.fullmatch(name):
        raise UnintelligibleError(RefusalReason.BAD_ID, f"{path}.{dotted}")
    return name


def key_of(key: str, path: str) -> str:
    """The object key, if it is one: 1 to 1,024 bytes of UTF-8 (S3, object key names)."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path) from None
    if not 0 < size <= MAX_KEY_BYTES:
        raise UnintelligibleError(RefusalReason.BAD_KEY, path)
    return key

"""Deliveries of several objects: which object completes one, which versions are its parts, and what is wrong with them.

A delivery consists of the objects directly in one folder. It is completed by `_SUCCESS`, by the manifest `_delivery.json`, or by
the absence of further objects (`delivery` of the `lakegate` extension). Everything here is decided from a listing of the folder
and the bytes of the manifest: docs/producer.md describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.contract.delivery_policy import DeliveryUnit

SUCCESS: Final = "_SUCCESS"
MANIFEST: Final = "_delivery.json"
COMPLETED_BY: Final[Mapping[DeliveryUnit, str]] = {DeliveryUnit.SUCCESS: SUCCESS, DeliveryUnit.MANIFEST: MANIFEST}
"""Name of the object that completes a delivery."""
FORMAT: Final = "lakegate-delivery/1"
MAX_PARTS: Final = 500
"""Of one delivery: its block, which lists them, is one item of DynamoDB, of at most 400 KB."""
MAX_BYTES: Final = 1 << 20
"""Of a manifest."""
LARGEST: Final = 5 << 40
"""Bytes of an object of S3."""
DEEPEST_MANIFEST: Final = 4
"""Nested brackets of a manifest."""
_CHECKSUM: Final = re.compile(r"(?:crc64nvme|sha256|sha1|crc32c|crc32):[A-Za-z0-9+/]{1,128}={0,2}", re.ASCII)
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
"""A text of JSON; possessive, so that a text without an end is looked at once."""


class PartVersion(NamedTuple):
    """One version of an object of the folder."""

    name: str
    """Its key behind the folder."""
    version: str
    size: int
    checksum: str
    """`<algorithm>:<value>`; empty where the store has none of the whole object."""
    arrived: datetime
    """By its event; without one Last-Modified, which is no later than that."""
    current: bool


class ManifestEntry(NamedTuple):
    """One line of a manifest."""

    name: str
    size: int
    checksum: str = ""


class ChosenParts(NamedTuple):
    """The versions that are the parts of a delivery, in the order of their names, and what is wrong with it."""

    parts: tuple[PartVersion, ...] = ()
    problems: tuple[str, ...] = ()
    """Reasons to reject it."""
    is_waiting: bool = False
    """Whether listed parts are missing that may still arrive."""


def folder_of(key: str) -> str:
    """The folder of a key, with its slash; empty at the top."""
    return key[: key.rfind("/") + 1]


def name_of(key: str) -> str:
    """The key behind its folder."""
    return key[key.rfind("/") + 1 :]


def completed_by_success(versions: Iterable[PartVersion], completed: datetime, before: datetime | None) -> ChosenParts:
    """The parts of the delivery that a version of `_SUCCESS` completes: what was there when it was written.

    `versions`: of one name the newest first. `completed`: when this `_SUCCESS` arrived. `before`: when the one before it
    arrived, if that is still there: objects that arrived earlier belong to that one.
    """
    parts = []
    for newest, of_name in _by_name(versions):
        in_time = [version for version in of_name if version.arrived <= completed]
        if in_time and newest.current and (before is None or in_time[0].arrived > before):
            parts.append(in_time[0])
    return _counted(
        parts, f"`{SUCCESS}` completes a folder without objects: write the data before it, directly into its folder"
    )


def completed_by_quiet(versions: Iterable[PartVersion]) -> ChosenParts:
    """The parts of a delivery that nothing but time completes: the current versions."""
    return _counted([version for version in versions if version.current], "")


def completed_by_manifest(versions: Iterable[PartVersion], body: bytes, *, may_arrive: bool) -> ChosenParts:
    """The parts that a manifest lists. `may_arrive`: whether a missing one is waited for."""
    try:
        entries = read_manifest(body)
    except InputError as wrong:
        return ChosenParts(problems=(f"file/manifest: {wrong}",))
    there = {newest.name: of_name for newest, of_name in _by_name(versions)}
    parts, problems, missing = [], [], False
    for number, entry in enumerate(entries, 1):
        found = there.get(entry.name, ())
        match = next(
            (part for part in found if part.size == entry.size and entry.checksum in {"", part.checksum}), None
        )
        if match is not None:
            parts.append(match)
            continue
        missing = missing or not found
        place = f"entry {number:,} of {len(entries):,} in `{MANIFEST}`"
        problems.append(f"file/parts: {place} {_difference(found[0], entry) if found else ABSENT}")
    if missing and may_arrive:
        return ChosenParts(is_waiting=True)
    return ChosenParts(tuple(sorted(parts)), tuple(problems[:MAX_PROBLEMS]))


ABSENT: Final = (
    f"names an object that is not in the folder: upload every part, then `{MANIFEST}`; deliver all of them again"
)
MAX_PROBLEMS: Final = 10


def read_manifest(body: bytes) -> tuple[ManifestEntry, ...]:
    """The entries of a manifest. Hostile input: InputError with the reason, and with none of its text."""
    if len(body) > MAX_BYTES:
        raise InputError(f"`{MANIFEST}` has more than {MAX_BYTES:,} bytes")
    try:
        text = body.decode()
        document = json.loads(text) if _depth(text) <= DEEPEST_MANIFEST else None
    except ValueError:
        raise InputError(f"`{MANIFEST}` is not JSON in UTF-8") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or set(document) != {"format", "parts"}:
        raise InputError(
            f'`{MANIFEST}` must be an object of `"format": "{FORMAT}"` and a list `parts`, and nothing else'
        )
    parts = document["parts"]
    if not isinstance(parts, list) or not 0 < len(parts) <= MAX_PARTS:
        raise InputError(f"`parts` in `{MANIFEST}` must be a list of 1 to {MAX_PARTS} parts: write fewer, larger files")
    entries = tuple(
        _entry(part, f"entry {number:,} of {len(parts):,} in `{MANIFEST}`") for number, part in enumerate(parts, 1)
    )
    if len({entry.name for entry in entries}) < len(entries):
        raise InputError(f"`{MANIFEST}` lists one key twice")
    return entries


def _entry(part: object, place: str) -> ManifestEntry:
    if not isinstance(part, dict) or not {"key", "size"} <= set(part) <= {"key", "size", "checksum"}:
        raise InputError(f"{place} must have `key` and `size`, may have `checksum`, and nothing else")
    key, size, checksum = part["key"], part["size"], part.get("checksum", "")
    if not isinstance(key, str) or not key or "/" in key or key in COMPLETED_BY.values():
        raise InputError(f"{place} has another `key` than the name of an object in the folder of `{MANIFEST}`")
    if type(size) is not int or not 0 <= size <= LARGEST:
        raise InputError(f"{place} has a `size` that is not a number of bytes")
    if not isinstance(checksum, str) or (checksum and not _CHECKSUM.fullmatch(checksum)):
        names = "crc64nvme, sha256, sha1, crc32c or crc32"
        raise InputError(f"{place} has a `checksum` that is not `<algorithm>:<base64>`, with {names}")
    return ManifestEntry(key, size, checksum)


def _depth(text: str) -> int:
    """The depth of nested brackets outside texts."""
    deepest = depth = 0
    for each in re.findall(r"[\[\]{}]", _TEXT.sub("", text)):
        depth += 1 if each in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _difference(part: PartVersion, entry: ManifestEntry) -> str:
    again = "upload what the manifest describes, or correct the manifest, and deliver all parts again"
    if part.size != entry.size:
        return f"states {plural(entry.size, 'byte')}, the object has {part.size:,}: {again}"
    algorithm, stored = (each.partition(":")[0] for each in (entry.checksum, part.checksum))
    if algorithm != stored:
        kept = f"has {stored}" if stored else "has none"
        return f"states a checksum by {algorithm}, the object {kept}: upload it with {algorithm}, or leave the checksum out"
    return f"states another checksum than the object has: {again}"


def _counted(parts: list[PartVersion], none: str) -> ChosenParts:
    if not parts:
        return ChosenParts(problems=(f"file/parts: {none}",) if none else ())
    if len(parts) > MAX_PARTS:
        words = f"file/parts: the delivery has {plural(len(parts), 'part')}, {MAX_PARTS} are allowed: write fewer, larger files"
        return ChosenParts(tuple(sorted(parts)[:MAX_PARTS]), (words,))
    return ChosenParts(tuple(sorted(parts)))


def _by_name(versions: Iterable[PartVersion]) -> Iterable[tuple[PartVersion, list[PartVersion]]]:
    """The newest version of each name, and all of them."""
    names: dict[str, list[PartVersion]] = {}
    for version in versions:
        names.setdefault(version.name, []).append(version)
    return [(of_name[0], of_name) for of_name in names.values()]

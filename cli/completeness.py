"""Whether local files are a complete delivery of parts, as the gate would find them in a folder of the landing bucket."""

from __future__ import annotations

import hashlib
import zlib
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.door.parts import MANIFEST, MAX_BYTES, PartVersion, completed_by_manifest, read_manifest
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.policy import DeliveryUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.cli.deliveries import DataFile

BLOCK: Final = 1 << 20
"""Bytes that are read at once."""
DIGESTS: Final[dict[str, Callable[[], Any]]] = {"sha256": hashlib.sha256, "sha1": hashlib.sha1}


def complete(files: list[DataFile], unit: DeliveryUnit) -> list[DataFile]:
    """The files that the gate would judge together: of a folder with a manifest those that it lists.

    InputError where the gate would reject the delivery as incomplete, and for files of several folders, each a delivery.
    """
    local = [each for each in files if each.pin is None]
    folders = {Path(each.name).parent for each in local}
    if unit is DeliveryUnit.OBJECT or not local:
        return files
    if len(folders) > 1 or len(local) < len(files):
        raise InputError("the contract takes the files directly in one folder as a delivery: name one folder")
    (folder,) = folders
    manifest = folder / MANIFEST
    if unit is not DeliveryUnit.MANIFEST or not manifest.is_file():
        return files
    with manifest.open("rb") as stream:
        body = stream.read(MAX_BYTES + 1)
    algorithms = {each.name: each.checksum.partition(":")[0] for each in read_manifest(body)}
    there = [_version(Path(each.name), algorithms.get(Path(each.name).name, "")) for each in local]
    chosen = completed_by_manifest(there, body, may_arrive=False)
    if chosen.problems:
        raise InputError(f"the gate would reject this delivery: {chosen.problems[0]}")
    listed = {each.name for each in chosen.parts}
    return [each for each in local if Path(each.name).name in listed]


def _version(path: Path, algorithm: str) -> PartVersion:
    found = path.stat()
    checksum = f"{algorithm}:{_checksum(path, algorithm)}" if algorithm else ""
    return PartVersion(path.name, "", found.st_size, checksum, datetime.fromtimestamp(found.st_mtime, UTC), True)


def _checksum(path: Path, algorithm: str) -> str:
    """Base64, as S3 states it. InputError for an algorithm that Python's library lacks."""
    if algorithm not in {*DIGESTS, "crc32"}:
        raise InputError(
            f"{MANIFEST} has a checksum by {algorithm}, which this command cannot compute: leave it out for `check`"
        )
    digest = DIGESTS[algorithm]() if algorithm in DIGESTS else None
    sum_so_far = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            if digest is None:
                sum_so_far = zlib.crc32(block, sum_so_far)
            else:
                digest.update(block)
    return b64encode(sum_so_far.to_bytes(4) if digest is None else digest.digest()).decode()

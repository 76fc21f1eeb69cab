"""Anchors of the ledger in the stack's own bucket, whose objects nobody can change or delete during the stack's `AnchorDays`.

The key of an anchor that a person keeps is the anchor: `<chain>/<height>=<digest>`, and the object is empty. Daily anchors are
documents (`contracts/lake/anchors.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lakegate.cli.aws import asked
from lakegate.contracts.errors import InputError, SetUpError
from lakegate.contracts.lake.anchor_check import AnchorFault, AnchorFlaw
from lakegate.contracts.lake.anchors import FOLDER
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from lakegate.cli.aws import DeployedStack
    from lakegate.functions.ports.ledger import Head

ANCHOR = re.compile(r"([0-9]{1,15})=([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
OUTPUT = "AnchorBucket"
HIDDEN = "a delete marker hides it; the locked version is there and was read"
OVER = "another version was put over it; the first one, which is locked, was read"


def kept_anchors(there: DeployedStack, chain: str) -> list[str]:
    """The anchors of a chain that were kept, as HEIGHT=DIGEST; none where the stack has no bucket for them."""
    bucket = there.outputs.get(OUTPUT)
    if bucket is None:
        return []
    found: list[str] = []
    after = {"StartAfter": f"{chain}/"}
    while page := asked("s3", "list_objects_v2", Bucket=bucket, Prefix=f"{chain}/", **after).get("Contents"):
        found += [each["Key"].removeprefix(f"{chain}/") for each in page]
        after = {"StartAfter": page[-1]["Key"]}
    return found


def keep_anchor(there: DeployedStack, chain: str, head: Head) -> None:
    """Keep the head of a chain. It is idempotent: the key is the same. SetUpError where the stack has no bucket for anchors."""
    bucket = there.outputs.get(OUTPUT)
    if bucket is None:
        raise SetUpError(f"the stack {there.name} keeps no anchors: set AnchorDays (docs/deploy.md)")
    if head.height >= 0:
        asked("s3", "put_object", Bucket=bucket, Key=f"{chain}/{head.height}={head.digest}", ChecksumAlgorithm="SHA256")


class StoredAnchors(NamedTuple):
    """Documents of daily anchors, and what is wrong with how they are stored."""

    documents: Iterator[tuple[str, bytes]]
    """Key and text, sorted by key; read while they are iterated over."""
    faults: tuple[AnchorFault, ...] = ()


def documents_in(folder: Path) -> StoredAnchors:
    """Those of a folder that a bucket of anchors was copied to. InputError where it is none."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give a copy of the bucket of anchors, s3://BUCKET, or `stack`")
    keys = sorted(each.relative_to(folder).as_posix() for each in folder.glob(f"{FOLDER}**/*") if each.is_file())
    return StoredAnchors((key, (folder / key).read_bytes()) for key in keys)


def documents_of(bucket: str, prefix: str = "") -> StoredAnchors:
    """Those of a bucket: the first version of each, which is locked; what was put over it is a fault."""
    versions: dict[str, list[str]] = {}
    hidden: set[str] = set()
    more: dict[str, str] = {}
    while True:
        page = asked("s3", "list_object_versions", Bucket=bucket, Prefix=f"{prefix}{FOLDER}", **more)
        for each in page.get("Versions", ()):  # the newest one of a key comes first
            versions.setdefault(each["Key"], []).append(each["VersionId"])
        hidden |= {each["Key"] for each in page.get("DeleteMarkers", ())}
        if not page["IsTruncated"]:
            break
        more = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}
    over = [key for key, each in versions.items() if len(each) > 1]
    faults = [
        *(AnchorFault(AnchorFlaw.MISSING_ANCHOR, key.removeprefix(prefix), HIDDEN) for key in sorted(hidden)),
        *(AnchorFault(AnchorFlaw.ALTERED_ANCHOR, key.removeprefix(prefix), OVER) for key in sorted(over)),
    ]

    def read() -> Iterator[tuple[str, bytes]]:
        for key in sorted(versions):
            answer = asked("s3", "get_object", Bucket=bucket, Key=key, VersionId=versions[key][-1])
            yield key.removeprefix(prefix), answer["Body"].read()

    return StoredAnchors(read(), tuple(faults))


def anchors_in(texts: Iterable[str]) -> Mapping[int, str]:
    """Digests by height. InputError for a text that is no anchor."""
    anchors: dict[int, str] = {}
    for text in texts:
        found = ANCHOR.fullmatch(text)
        if found is None:
            raise InputError(
                "an anchor is HEIGHT=DIGEST, the digest in 64 hexadecimal digits, as `verify` prints it; "
                f"not {shown(text)}"
            )
        height, digest = int(found[1]), found[2].lower()
        if anchors.setdefault(height, digest) != digest:
            raise InputError(f"two anchors of height {height} differ")
    return anchors

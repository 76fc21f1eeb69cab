"""Anchors of the ledger in the stack's own bucket, whose objects nobody can change or delete during the stack's `AnchorDays`.

The key of an anchor is the anchor: `<chain>/<height>=<digest>`. The object is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.cli.aws import asked
from lakegate.contracts.errors import SetUpError

if TYPE_CHECKING:
    from lakegate.cli.aws import DeployedStack
    from lakegate.functions.ports.ledger import Head

OUTPUT = "AnchorBucket"


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

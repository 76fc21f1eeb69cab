"""Files of this machine, staged in the lake bucket: the gate copies them to where they are read."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import NamedTuple

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.transfer.upload_files import To, read, send


class Staged(NamedTuple):
    """An object that is to be copied."""

    key: str
    version: str
    size: int
    checksum: str
    """SHA-256, as S3 writes it."""


def stage_file(there: DeployedStack, path: Path, key: str) -> Staged:
    """Upload a file, and delete it here."""
    local = read(path)
    to = To(there.output("LakeBucket"), key, there.account)
    version = send(client("s3"), local, to, lambda _: None)
    path.unlink()
    checksum = base64.b64encode(bytes.fromhex(local.sha256)).decode()
    return Staged(key, version, local.size, f"sha256:{checksum}")

"""The jars that the local Spark is given: Deequ, and S3A with the parts of the AWS SDK it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import SetUpError
from lakegate.infra.local.clone import TOOLS
from lakegate.infra.setup.pins import pinned_jars

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "jars"


def jars(tools: Path = TOOLS) -> tuple[Path, ...]:
    """The paths of all pinned jars, Deequ's first; SetUpError if one is missing.

    Their checksums were compared when set-up put them there; here only their presence is.
    """
    paths = tuple(tools / FOLDER / jar.file for jar in pinned_jars())
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise SetUpError(f"{missing[0]} is missing from {tools / FOLDER}: run `make setup`.")
    return paths

"""Keys that are no deliveries. The settings of every function and command read this, and nothing else of admission."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

IGNORED: Final = (
    "_temporary",  # FileOutputCommitter: tasks that are not committed
    "__magic*",  # the S3A committers: the same
    ".spark-staging*",  # dynamic partition overwrite: the same
    "_SUCCESS",
    "_started_*",
    "_committed_*",
    "_spark_metadata",
    "*.crc",  # checksums of local Hadoop file systems
    "*._COPYING_",  # `hdfs dfs -put`, while it writes
    "*_$folder$",  # folder markers of older connectors
)
"""Patterns of a folder's name or of the object's own: `*` stands for any characters. The default of a stack."""


def is_ignored(key: str, size: int, patterns: tuple[str, ...]) -> bool:
    """Whether an object is not a delivery: by the name of one of its folders, by its own, or as the marker of a folder.

    `size`: in bytes. Consoles and connectors create an empty object whose key ends with a slash.
    """
    return (key.endswith("/") and size == 0) or any(_matches(name, patterns) for name in key.split("/"))


@lru_cache(10_000)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

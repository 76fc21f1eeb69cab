"""The archive of Java classes that every local Spark maps into its memory instead of reading and verifying them again.

It belongs to one Java, one set of jars, and one Spark where it lies; `python -m lakegate.infra.setup.classes` makes it.
Without it, or with one that the JVM does not accept, Spark starts slower and does the same.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyspark

from lakegate.infra.local.clone import TOOLS
from lakegate.infra.setup.pins import pinned_jars

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "classes"
KEY_LENGTH = 16


def archive(java: Path, tools: Path = TOOLS) -> Path:
    """Where the archive of a Java home lies, if there is one."""
    made_for = [str(java), pyspark.__file__, pyspark.__version__, *(jar.sha256 for jar in pinned_jars())]
    return tools / FOLDER / f"{hashlib.sha256(chr(0).join(made_for).encode()).hexdigest()[:KEY_LENGTH]}.jsa"

"""Everything set-up makes is made aside and moved to its place whole, so that a break leaves the old or nothing."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_dir(tools: Path) -> Iterator[Path]:
    """A fresh folder inside `tools` (so that moving out of it is one rename), gone at the end."""
    tools.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="aside-", dir=tools) as name:
        yield Path(name)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """One process at a time makes what belongs at a place; another waits, and then finds it there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f".{place.name}.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield

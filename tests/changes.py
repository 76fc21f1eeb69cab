"""Whether files were changed: tests of a package that stands for itself run per commit only if it was, and all in the night."""

from __future__ import annotations

import subprocess
from pathlib import Path

MAINS = ("origin/main", "main")


def is_changed(root: Path, *paths: str) -> bool:
    """Whether the paths differ from the commit that the work started at, committed or not.

    That is the merge base with main; on main itself it is the commit before. True too where git cannot tell: no git, an
    archive without history, a shallow clone.
    """
    try:
        start = _start(root)
        known = _git(root, "diff", "--name-only", start, "--", *paths)
        return bool(known or _git(root, "ls-files", "--others", "--exclude-standard", "--", *paths))
    except (OSError, subprocess.CalledProcessError):
        return True


def _start(root: Path) -> str:
    head = _git(root, "rev-parse", "HEAD")
    mains = [name for name in MAINS if _git(root, "for-each-ref", f"refs/heads/{name}", f"refs/remotes/{name}")]
    bases = [_git(root, "merge-base", "HEAD", name) for name in mains]
    if not bases:
        return _git(root, "rev-parse", "--verify", "no main branch")
    return next((base for base in bases if base != head), f"{head}~1")


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - git, our words

"""Bytecode of a bundle: what was compiled before is not compiled again, and is the same."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from infra.packaging.bundles import KEPT_SECONDS, compile_all, compile_changed

MODULES = {"a.py": "A = 1\n", "inner/b.py": "def b() -> int:\n    return 2\n"}


def packages(folder: Path, modules: dict[str, str]) -> Path:
    for name, text in modules.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def compiled(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.pyc")}


def test_kept_bytecode_is_that_of_a_whole_compilation(tmp_path: Path) -> None:
    """For new modules, for those that stayed, and for one that changed."""
    kept, changed = tmp_path / "kept", MODULES | {"a.py": "A = 2\n"}
    found = []
    for number, modules in enumerate((MODULES, MODULES, changed)):
        whole, part = (packages(tmp_path / f"{kind}-{number}", modules) for kind in ("whole", "part"))
        compile_all(whole, sys.executable)
        compile_changed(part, kept)
        found.append((compiled(part), compiled(whole)))

    assert [len(part) for part, _ in found] == [2, 2, 2]
    assert [part for part, _ in found] == [whole for _, whole in found]
    assert len(list(kept.iterdir())) == 3


def test_a_module_that_stayed_is_not_compiled_again(tmp_path: Path) -> None:
    """Its bytecode is that of the folder, which forgets what no bundle had for a month."""
    kept = tmp_path / "kept"
    compile_changed(packages(tmp_path / "first", MODULES), kept)
    for path in kept.iterdir():
        path.write_bytes(b"kept")
    old = kept / "old.pyc"
    old.write_bytes(b"")
    os.utime(old, (0, time.time() - KEPT_SECONDS - 60))
    again = packages(tmp_path / "second", MODULES)
    compile_changed(again, kept)

    assert set(compiled(again).values()) == {b"kept"}
    assert not old.exists()

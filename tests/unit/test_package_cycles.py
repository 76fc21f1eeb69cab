"""The packages of contracts/ import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from lakegate.infra.local.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHARED = ROOT / "contracts"
"""Its own modules, errors and words, are below every package."""


def imported(path: Path) -> Iterator[Path]:
    """The packages of contracts/ that a module imports, for types or at run time."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakegate.contracts"):
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                inside = name.removeprefix("lakegate.").split(".")
                places = [ROOT.joinpath(*inside[:end]) for end in range(len(inside), 0, -1)]
                yield next(
                    place if place.is_dir() else place.parent
                    for place in places
                    if place.is_dir() or place.with_suffix(".py").is_file()
                )


def test_the_packages_of_contracts_have_an_order() -> None:
    """No package imports another one that imports it, directly or through others."""
    graph: dict[Path, set[Path]] = {}
    for path in SHARED.rglob("*.py"):
        if path.parent != SHARED:
            graph.setdefault(path.parent, set()).update(set(imported(path)) - {path.parent, SHARED})

    order = list(TopologicalSorter(graph).static_order())

    assert len(order) >= len(graph) > 5

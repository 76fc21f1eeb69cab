"""The table of layers in docs/architecture.md, and what the files of the product import."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[3]
PACKAGES = ("lakegate", "functions", "spark_jobs", "infra", "integrations")
HEADER = "| layer | folders and files of `lakegate/` |"
STUBS = "mypy_boto3_"
"""Types of boto3's clients: anyone who may use botocore may use them."""


@dataclass(frozen=True)
class Layer:
    """One row of the table; layers have their order as their rank."""

    rank: int
    name: str
    places: tuple[PurePosixPath, ...]
    excluded: tuple[str, ...]
    libraries: frozenset[str]

    def may_import(self, other: Layer) -> bool:
        """Whether the other layer is this one, or a lower one that the row does not exclude."""
        return other.rank <= self.rank and other.name not in self.excluded


@cache
def layers() -> dict[str, Layer]:
    """The rows by name, from the lowest to the highest."""
    rows = (ROOT / "docs/architecture.md").read_text().split(HEADER)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {
        name: Layer(
            rank,
            name,
            tuple(_place(each) for each in re.findall(r"`([^`]+)`", places)),
            tuple(filter(None, excluded.split(", "))),
            frozenset(re.findall(r"`([^`]+)`", libraries)),
        )
        for rank, (name, places, _, excluded, libraries) in enumerate(cells)
    }


@cache
def product() -> tuple[PurePosixPath, ...]:
    """The product's files, relative to the root; not examples, which a person copies."""
    return tuple(
        PurePosixPath(path.relative_to(ROOT))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.parent.name != "example_dags"
    )


@cache
def tree_of(file: PurePosixPath) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse((ROOT / file).read_text())


@cache
def layer_of(file: PurePosixPath) -> Layer:
    """The row whose place is the file itself, or else its nearest folder; KeyError if the table has none."""
    rows = {place: layer for layer in layers().values() for place in layer.places}
    return rows[next((place for place in (file, *file.parents) if place in rows), file)]


def feature_of(file: PurePosixPath) -> str:
    """The folder of a feature; empty for the core, the table of features and what starts features."""
    return file.parts[2] if file.parts[:2] == ("lakegate", "features") and len(file.parts) > 3 else ""


@cache
def nodes_of(file: PurePosixPath) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a file."""
    return tuple(ast.walk(tree_of(file)))


@cache
def imported(file: PurePosixPath) -> frozenset[str]:
    """The dotted names that a file imports, for types or at run time."""
    names: set[str] = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


@cache
def own_files(file: PurePosixPath) -> frozenset[PurePosixPath]:
    """The product's files that a file imports."""
    return frozenset(found for name in imported(file) if (found := _file_of(name)) not in {None, file})


def libraries(file: PurePosixPath) -> set[str]:
    """The libraries that a file imports, by the names of their packages."""
    names = {name.partition(".")[0] for name in imported(file) if _file_of(name) is None}
    return {name for name in names - set(sys.stdlib_module_names) if not name.startswith(STUBS)}


def is_forbidden(file: PurePosixPath, other: PurePosixPath) -> bool:
    """Whether an import goes to a higher layer, to one that the row excludes, or from one feature to another one."""
    own, its = feature_of(file), feature_of(other)
    return not layer_of(file).may_import(layer_of(other)) or ("" not in {own, its} and own != its)


def circular() -> set[PurePosixPath]:
    """The files that import each other by allowed imports, directly or through others."""
    allowed = {file: {other for other in own_files(file) if not is_forbidden(file, other)} for file in product()}
    return {file for file in product() if file in _reached(file, allowed)}


def _reached(file: PurePosixPath, allowed: dict[PurePosixPath, set[PurePosixPath]]) -> set[PurePosixPath]:
    """All files that a file imports, directly or through others."""
    found: set[PurePosixPath] = set()
    wanted = {file}
    while wanted:
        wanted = set().union(*(allowed[each] for each in wanted)) - found
        found |= wanted
    return found


def _place(name: str) -> PurePosixPath:
    inside = PurePosixPath("lakegate", name)
    return inside if (ROOT / inside).exists() else PurePosixPath(name)


@cache
def _files() -> frozenset[PurePosixPath]:
    return frozenset(product())


@cache
def _file_of(name: str) -> PurePosixPath | None:
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        for root in _roots():
            place = root.joinpath(*parts[:end])
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file in _files():
                    return file
    return None


@cache
def _roots() -> tuple[PurePosixPath, ...]:
    """The folders from which modules are imported: the repository, and each distribution for other tools."""
    return PurePosixPath(), *(PurePosixPath(path.relative_to(ROOT)) for path in (ROOT / "integrations").iterdir())

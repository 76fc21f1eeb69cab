"""The table of layers in docs/architecture.md, and what the files of the product import."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGES = ("contracts", "engine", "functions", "spark_jobs", "cli", "infra", "lakegate")
HEADER = "| package | may import | libraries |"
STUBS = "mypy_boto3_"
"""Types of boto3's clients: anyone who may use botocore may use them."""


@dataclass(frozen=True)
class Layer:
    """One row: a folder with all below it, `folder/*.py` for the files directly in it, or one file."""

    name: str
    imports: tuple[str, ...]
    libraries: frozenset[str]


@cache
def layers() -> dict[str, Layer]:
    """The rows by name."""
    text = (ROOT / "docs/architecture.md").read_text()
    rows = text.split(HEADER)[1].split("\n\n")[0].splitlines()[2:]
    cells = ([re.findall(r"`([^`]+)`", cell) for cell in row.strip("|").split("|")] for row in rows)
    return {
        name: Layer(name, tuple(imports), frozenset(libraries)) for names, imports, libraries in cells for name in names
    }


@cache
def product() -> tuple[PurePosixPath, ...]:
    """The product's files, relative to the root."""
    return tuple(
        PurePosixPath(path.relative_to(ROOT)) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


@cache
def tree_of(file: PurePosixPath) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse((ROOT / file).read_text())


@cache
def layer_of(file: PurePosixPath) -> Layer:
    """The most special row for a file; KeyError if the table has none."""
    names = [str(file), f"{file.parent}/*.py", *map(str, file.parents)]
    return next(layers()[name] for name in names if name in layers())


@cache
def _names_of(file: PurePosixPath) -> frozenset[str]:
    return frozenset({str(file), f"{file.parent}/*.py", *map(str, file.parents)})


def covers(name: str, file: PurePosixPath) -> bool:
    """Whether a name of the table means a file."""
    return name in _names_of(file)


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


def own_files(file: PurePosixPath) -> set[PurePosixPath]:
    """The product's files that a file imports."""
    return {found for name in imported(file) if name.startswith("lakegate.") and (found := _file_of(name)) is not None}


def libraries(file: PurePosixPath) -> set[str]:
    """The libraries that a file imports, by the names of their packages."""
    names = {name.partition(".")[0] for name in imported(file)}
    return {name for name in names - set(sys.stdlib_module_names) - {"lakegate"} if not name.startswith(STUBS)}


@cache
def _files() -> frozenset[PurePosixPath]:
    return frozenset(product())


@cache
def _file_of(name: str) -> PurePosixPath | None:
    parts = name.split(".")[1:]
    for end in range(len(parts), 0, -1):
        place = PurePosixPath(*parts[:end])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file in _files():
                return file
    return None  # a name of the package `lakegate` itself

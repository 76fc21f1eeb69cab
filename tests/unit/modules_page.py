"""Generates the tables of docs/modules.md from the docstrings of all modules: `python -m tests.unit.modules_page`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lakegate.infra.local.clone import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs/modules.md"
PACKAGES = ("contracts", "engine", "functions", "spark_jobs", "cli", "infra", "lakegate")
BEGIN, END = "<!-- modules -->", "<!-- end -->"


def modules(package: str) -> list[Path]:
    """Every module of a package of the product, relative to the repository; `__init__.py` before its neighbours."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py"))


def first_line(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse((ROOT / path).read_text())) or "").partition("\n")[0]


def generated(page: str) -> str:
    """The page with up-to-date tables."""
    tables = "\n\n".join(f"## {package}/\n\n{_table(package)}" for package in PACKAGES)
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}"


def _table(package: str) -> str:
    rows = [f"| `{path.as_posix()}` | {first_line(path).replace('|', '¦')} |" for path in modules(package)]
    return "\n".join(["| module | contains |", "| --- | --- |", *rows])


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))

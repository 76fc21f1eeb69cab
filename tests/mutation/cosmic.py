"""The mutants of files, by cosmic-ray: run by the Python of `.tools/mutation`, which has nothing of Lakegate.

Standard input and output are JSON. `python cosmic.py list`: paths in, the mutants of each out, as
`[path, operator, occurrence, line, column]`. `python cosmic.py apply`: such mutants in, their source texts out.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    Mutant = tuple[str, str, int, int, int]
    Position = tuple[int, int]


SAME = ("_Is_Eq", "_Eq_Is", "_IsNot_NotEq", "_NotEq_IsNot")
"""Identity for equality, and the reverse: the same for None and members of enumerations, and an error of ruff for literals."""


def mutants(path: str) -> Iterator[Mutant]:
    """Every mutant of a file that a test can notice."""
    unused = list(unnoticed(ast.parse(Path(path).read_text())))
    nodes = list(ast_nodes(get_ast_from_path(Path(path))))
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or name.endswith(SAME):
            continue
        positions = (position for node in nodes for position in operator().mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start and end <= last for first, last in unused):
                yield path, name, occurrence, *start


def unnoticed(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """Where what types alone need begins and ends.

    Annotations are never evaluated (`from __future__ import annotations`); `if TYPE_CHECKING` is for mypy, and so is `frozen`,
    which mypy enforces.
    """
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts.append(node.test)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dataclass":
            parts += [each.value for each in node.keywords]
        for each in filter(None, parts):
            yield (each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)


def mutated(path: str, name: str, occurrence: int) -> str:
    """The text of a file with one mutation."""
    text: str = mutate_code(Path(path).read_text(), get_operator(name)(), occurrence)
    return text


if __name__ == "__main__":
    given = json.load(sys.stdin)
    if sys.argv[1] == "list":
        json.dump([each for path in given for each in mutants(path)], sys.stdout)
    else:
        json.dump([mutated(path, name, occurrence) for path, name, occurrence, *_ in given], sys.stdout)

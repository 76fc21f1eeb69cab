"""The layers of docs/architecture.md, and what every file of the product keeps to, shown by reading the source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.unit.layers import covers, imported, layer_of, layers, libraries, nodes_of, own_files, product, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

IMPURE_MODULES = {"os", "socket", "subprocess", "time", "random", "secrets", "urllib", "http", "tempfile"}
IMPURE_CALLS = {"now", "utcnow", "today", "getenv"}
DECLARATIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.TypeAlias if hasattr(ast, "TypeAlias") else ast.Assign,
)
"""What a module consists of. Python 3.12 has a statement for type aliases."""
GUARDS = ("TYPE_CHECKING", "not TYPE_CHECKING", "__name__ == '__main__'")
CHANGES = {
    *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"),
    *("appendleft", "popleft", "cache_clear", "__setitem__"),
}
"""Methods that change a container or a cache."""
CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
CONTAINER_TYPES = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict", "WeakValueDictionary"}


def test_every_name_in_the_table_exists() -> None:
    """A row and what it may import are files or folders of the repository."""
    names = {name for layer in layers().values() for name in (layer.name, *layer.imports)}

    assert {name for name in names if not any(covers(name, file) for file in product())} == set()


def test_a_file_imports_only_what_its_layer_may() -> None:
    """The table decides which packages a file may import, for types too."""
    wrong = {
        (str(file), str(other))
        for file in product()
        for other in own_files(file)
        if layer_of(other) != layer_of(file) and not any(covers(name, other) for name in layer_of(file).imports)
    }

    assert wrong == set()


def test_a_file_imports_only_the_libraries_of_its_layer() -> None:
    """A new library is a decision: a row of the table."""
    wrong = {(str(file), name) for file in product() for name in libraries(file) - layer_of(file).libraries}

    assert wrong == set()


def test_imports_are_absolute() -> None:
    """A name shows where it comes from."""
    assert {(str(file), name) for file in product() for name in imported(file) if name.startswith(".")} == set()


def test_contracts_depend_on_no_clock_and_no_environment() -> None:
    """Nothing in contracts/ reads the clock, the environment, a file of its own choice or a random number."""
    files = [file for file in product() if file.parts[0] == "contracts"]
    modules = {(str(file), name) for file in files for name in imported(file) if name.split(".")[0] in IMPURE_MODULES}
    nodes = ((str(file), node) for file in files for node in nodes_of(file))
    calls = {(file, node.attr) for file, node in nodes if isinstance(node, ast.Attribute) and node.attr in IMPURE_CALLS}

    assert modules | calls == set()


def test_a_class_has_a_name_of_its_own() -> None:
    """No two public classes of the product share a name: a reader who searches for one finds it."""
    files = [(str(file), node) for file in product() for node in nodes_of(file)]
    places: dict[str, list[str]] = {}
    for file, node in files:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places.setdefault(node.name, []).append(file)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_an_import_has_no_effects() -> None:
    """A module declares; it calls nothing for its effect, and assigns to nothing of another module or class."""
    wrong = {(str(file), ast.unparse(node)) for file in product() for node in tree_of(file).body if not _declares(node)}

    assert wrong == set()


def test_a_module_has_no_state() -> None:
    """No function rebinds a name of its module, changes a container that is one, or sets an attribute of one."""
    files = [file for file in product() if file.parts[0] != "infra"]

    assert {(str(file), ast.unparse(node)) for file in files for node in _changes(tree_of(file))} == set()


def _declares(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in GUARDS
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)  # a docstring
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return isinstance(node, DECLARATIONS) and not any(
        isinstance(each, ast.Attribute | ast.Subscript) for each in targets
    )


def _changes(module: ast.Module) -> Iterator[ast.AST]:
    values = dict(_values(module))
    containers = {name for name, value in values.items() if _is_container(value)}
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes = tuple(ast.walk(function))
            local = _local(nodes)
            yield from _changed_in(nodes, containers - local)
            yield from _set_in(nodes, values.keys() - local)


def _values(module: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a module assigns, with their values."""
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((each.id, node.value) for each in targets if isinstance(each, ast.Name))


def _is_container(value: ast.expr | None) -> bool:
    made = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in CONTAINER_TYPES
    return made or isinstance(value, CONTAINERS)


def _set_in(nodes: tuple[ast.AST, ...], names: set[str]) -> Iterator[ast.AST]:
    for node in nodes:
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node.value, ast.Name) and node.value.id in names:
            yield node


def _local(nodes: tuple[ast.AST, ...]) -> set[str]:
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _changed_in(nodes: tuple[ast.AST, ...], names: set[str]) -> Iterator[ast.AST]:
    for node in nodes:
        if isinstance(node, ast.Global):
            yield node
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Name) and node.value.id in names:
                yield node
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CHANGES
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in names
        ):
            yield node

"""The layers of docs/architecture.md, and what every file of the product keeps to, shown by reading the source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.unit.repository import remaining
from tests.unit.repository.layers import (
    ROOT,
    circular,
    imported,
    is_forbidden,
    layer_of,
    layers,
    libraries,
    nodes_of,
    own_files,
    product,
    tree_of,
)

IMPURE_MODULES = {"os", "socket", "subprocess", "time", "random", "secrets", "urllib", "http", "tempfile"}
IMPURE_CALLS = {"now", "utcnow", "today", "getenv"}
PURE = {"urllib.parse.quote", "urllib.parse.unquote"}
LARGEST_FOLDER = 20
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
TOP_LEVEL = {"contracts", "docs", "functions", "infra", "integrations", "lakegate", "spark_jobs", "tests"}
GUARDS = ("TYPE_CHECKING", "not TYPE_CHECKING", "__name__ == '__main__'")
CHANGES = {
    *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"),
    *("appendleft", "popleft", "cache_clear", "__setitem__"),
}
"""Methods that change a container or a cache."""
CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
CONTAINER_TYPES = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict", "WeakValueDictionary"}


def test_every_place_in_the_table_exists() -> None:
    """A row's files and folders are in the repository, and what it does not import is another row."""
    assert [place for layer in layers().values() for place in layer.places if not (ROOT / place).exists()] == []
    assert {name for layer in layers().values() for name in layer.excluded} <= layers().keys()


def test_no_test_leaves_a_folder_at_the_top_level() -> None:
    """A folder that nothing declares is what a test or a tool wrote into its working directory."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    found = {each.name for each in ROOT.iterdir() if each.is_dir() and not each.name.startswith(".")}

    assert {name for name in found - ignored if not name.endswith(".egg-info")} == TOP_LEVEL


def test_a_file_imports_only_what_its_layer_may() -> None:
    """A file imports its own layer and lower ones, for types too; the core imports no feature, and no feature another one."""
    found = {(str(file), str(other)) for file in product() for other in own_files(file) if is_forbidden(file, other)}

    assert found - remaining.IMPORTS == set()
    assert remaining.IMPORTS - found == set(), "no longer needed: remove it from the list"


def test_no_module_imports_itself_through_others() -> None:
    """Imports for types count as well."""
    found = {str(file) for file in circular()}

    assert found - remaining.CIRCULAR == set()
    assert remaining.CIRCULAR - found == set(), "no longer needed: remove it from the list"


def test_a_folder_has_at_most_twenty_modules() -> None:
    """A folder is read at one glance."""
    sizes = Counter(file.parent for file in product() if file.name != "__init__.py")

    assert {str(folder) for folder, size in sizes.items() if size > LARGEST_FOLDER} == remaining.FULL_FOLDERS


def test_a_module_has_a_name_of_its_own() -> None:
    """Whoever searches for a file by its name finds one."""
    names = Counter(file.name for file in product() if file.name not in {"__init__.py", "__main__.py"})

    assert {name for name, number in names.items() if number > 1} == remaining.NAMES


def test_a_file_imports_only_the_libraries_of_its_layer() -> None:
    """A new library is a decision: a row of the table."""
    wrong = {(str(file), name) for file in product() for name in libraries(file) - layer_of(file).libraries}

    assert wrong == set()


def test_imports_are_absolute() -> None:
    """A name shows where it comes from."""
    assert {(str(file), name) for file in product() for name in imported(file) if name.startswith(".")} == set()


def test_what_is_below_the_engine_depends_on_no_clock_and_no_environment() -> None:
    """Documents, rules, plans, verdicts and reports read no clock, environment, file of their own choice or random number."""
    files = [file for file in product() if layer_of(file).rank < layers()["engine"].rank]
    modules = {(str(file), name) for file in files for name in imported(file) if name.split(".")[0] in IMPURE_MODULES}
    nodes = ((str(file), node) for file in files for node in nodes_of(file))
    calls = {(file, node.attr) for file, node in nodes if isinstance(node, ast.Attribute) and node.attr in IMPURE_CALLS}

    assert {(file, name) for file, name in modules if name not in PURE} | calls == set()


def test_a_class_has_a_name_of_its_own() -> None:
    """No two public classes of the product share a name: a reader who searches for one finds it."""
    files = [(str(file), node) for file in product() for node in nodes_of(file)]
    classes = [(file, node) for file, node in files if isinstance(node, ast.ClassDef)]
    hidden = {id(inner) for _, node in classes if node.name.startswith("_") for inner in ast.walk(node)}
    places: dict[str, list[str]] = {}
    for file, node in classes:
        if id(node) not in hidden:
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

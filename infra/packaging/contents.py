"""What goes into the bundles: the modules that their entry modules reach by imports, and packages without what nobody needs.

An import at the top of a module counts as one in a function does; one for types alone does not. A module that asks an extension
point reaches what features register there (`lakegate/features/feature_table.py`). Data files go with the modules of their folder.
"""

from __future__ import annotations

import ast
import shutil
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import TYPE_CHECKING

from infra.packaging.wheels import unpack, wheels
from lakegate import extension_points
from lakegate.features import feature_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OURS = frozenset({"lakegate", "functions", "spark_jobs"})
"""The packages of this repository that are deployed."""


DATA = frozenset({".json", ".yaml", ".html"})
"""Files that modules read; the other ones are for a clone."""


UNUSED = (
    "botocore/data/*/examples-1.json*",  # for people
    "aws_lambda_powertools/event_handler/openapi/swagger_ui/*",  # a page that nobody is shown
    "numpy/*/tests/*",  # a third of it
    "pandas/tests/*",  # likewise
    "*.dist-info/RECORD",  # lists files that are not here
)


SERVICES = "botocore/data/"


UNUSED_BY_JOBS = ("lakegate/schemas/official/*",)
"""Contracts are read when they are published, never when data is judged."""


UNUSED_BY_THE_JUDGE = (
    *UNUSED_BY_JOBS,
    "pyarrow/include/*",
    "pyarrow/includes/*",
    "pyarrow/src/*",
    "pyarrow/tests/*",
    "pyarrow/*.p[xy][dxi]",  # sources of Cython
    "pyarrow/*flight*",  # a client of remote tables
    "pyarrow/libarrow_s3*",  # bytes are read by the SDK
    "pyarrow/_s3fs*",
    "pyarrow/_gcsfs*",
    "pyarrow/_azurefs*",
    "pyarrow/_hdfs*",
    "pyarrow/*encryption*",
    "pyarrow/_pyarrow_cpp_tests*",
    "pyarrow/libarrow_python.so",  # the same file as libarrow_python.so.<version>, which the others load
    "pyarrow/libarrow_python.so.*.*",  # likewise
    "numpy/f2py/*",
    "numpy/_core/include/*",
    "numpy/*/lib/lib*.a",
    "numpy/*.pyi",
    "duckdb/experimental/*",  # Spark's interface on DuckDB
    "adbc_driver_duckdb/*",
    "_duckdb-stubs/*",
)
"""A zip for Lambda has 250 MB unpacked at the most; the engine needs pyarrow, DuckDB and numpy, which have 310 MB."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The code of the functions, of those that read data (judge and drift), of the pull function, or of the job, as deployed."""

    name: str
    """Of its lock file."""
    entries: tuple[str, ...]
    """The modules that are started, by their dotted names."""
    services: frozenset[str]
    """The services that boto3 calls: it describes 400 services of AWS, in 25 MB."""
    unused: tuple[str, ...] = ()
    """Further patterns of files that are left out."""


FUNCTIONS = Bundle(
    "lambda",
    tuple(f"functions.{name}_handler" for name in ("intake", "completion", "sweep", "notify", "api", "anchor")),
    frozenset({"dynamodb", "emr-serverless", "events", "kms", "lambda", "s3", "secretsmanager", "sns", "sqs", "sts"}),
)
"""The services of lakegate/aws/wiring.py and of what features register for it."""


PULL = Bundle("pull", ("functions.pull_handler",), FUNCTIONS.services)
"""The pull function alone has a client of SSH."""


JOB = Bundle(
    "job",
    ("spark_jobs.validate", "lakegate.spark.worker_daemon"),
    frozenset({"s3", "sts"}),
    (*UNUSED_BY_JOBS, "spark_jobs/*"),
)
"""`sts`: a run may have to turn a token into its role's credentials. The entry point lies beside the environment."""


JUDGE = Bundle(
    "judge", ("functions.judge_handler", "functions.drift_handler"), frozenset({"dynamodb", "s3"}), UNUSED_BY_THE_JUDGE
)


def fill(folder: Path, bundle: Bundle, root: Path, tools: Path, python: str = "3.11") -> None:
    """Fill a folder with packages: ours from the repository at `root`, the others from their wheels for a Python."""
    use = partial(wanted, services=bundle.services, unused=bundle.unused)
    for wheel in wheels(bundle.name, tools, python=python):
        unpack(wheel, folder, use)
    for path in own_files(bundle.entries, root):
        place = path.relative_to(root)
        if use(place.as_posix()):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / place)


def own_files(entries: tuple[str, ...], root: Path) -> set[Path]:
    """What entry modules reach by imports in the repository at `root`: modules, the packages around them, and data files."""
    found: set[Path] = set()
    todo = list(entries)
    while todo:
        reached = _modules(todo.pop(), root) - found
        found |= reached
        todo += [name for path in reached for name in _reached_by(path)]
    data = (path for folder in {path.parent for path in found} for path in _data_files(folder))
    return found | set(data)


def _modules(name: str, root: Path) -> set[Path]:
    """The files of a dotted name: of a module, or of a name in one, and of all packages around it; none where it is not ours."""
    first, *more = name.split(".")
    if first not in OURS:
        return set()
    files, place = {root / first / "__init__.py"}, root / first
    for part in more:
        place /= part
        files |= {each for each in (place / "__init__.py", place.with_suffix(".py")) if each.is_file()}
    return files


@cache
def _reached_by(path: Path) -> frozenset[str]:
    """The dotted names that a module imports at run time, and what is registered at the extension points that it asks."""
    nodes = tuple(_nodes(ast.parse(path.read_bytes())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    if any(name.startswith(extension_points.__name__) for name in names):
        texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
        names |= {place.partition(":")[0] for point, _, place in feature_table.TABLE if point in texts}
        names.add(feature_table.__name__)
    return frozenset(names)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it but what is for types alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield node
    for each in ast.iter_child_nodes(node):
        yield from _nodes(each)


def _data_files(folder: Path) -> Iterator[Path]:
    """The data files of a package, also those in folders that are none."""
    for path in folder.iterdir():
        if path.suffix in DATA:
            yield path
        elif path.is_dir() and not (path / "__init__.py").is_file():
            yield from _data_files(path)


def wanted(name: str, services: frozenset[str], unused: tuple[str, ...] = ()) -> bool:
    """Whether a file of a package belongs into a bundle that calls these services."""
    if any(fnmatchcase(name, pattern) for pattern in (*UNUSED, *unused)):
        return False
    service, inside, _ = name.removeprefix(SERVICES).partition("/")
    return not (name.startswith(SERVICES) and inside) or service in services

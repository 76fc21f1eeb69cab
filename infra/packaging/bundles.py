"""Deployed artifacts: the functions for Lambda, those of the judge, of pulls and of tables, and the job for EMR Serverless.

::

    build/lambda/functions.zip  handlers, what they reach of lakegate/, and libraries, compiled: CodeUri in template.yaml
    build/judge/judge.zip       likewise of the two functions that read data, with the engine: CodeUri, too
    build/pull/pull.zip         likewise of the function that pulls, with the library for SFTP: CodeUri, too
    build/table/table.zip       likewise of the function that keeps tables, with the library for Iceberg: CodeUri, too
    build/code/<release>/       for the lake bucket; the release is named after the contents of
      validate.py                 the entry point
      environment.tar.gz          what the job reaches of lakegate/, libraries, and `bin/python`, which finds Python 3.11
      deequ.jar, avro.jar         as `make spark-tools` checked them
    build/release               the release's name: the parameter JobCode of template.yaml

A release never changes once it has its name, so that a deployment cannot change a run under way.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path

from infra.setup.atomic_dir import alone, atomic_dir
from infra.setup.environments import LOCKS, MARK
from lakegate.base import extension_points
from lakegate.base.errors import SetUpError
from lakegate.features import feature_table
from lakegate.spark.local_spark import jars

# ---- Archives whose bytes depend on names and contents alone ----


EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""
READABLE, EXECUTABLE, FOLDER = 0o644, 0o755, 0o755
LEVEL = 6
QUICK = 1
"""Of compression where nobody sends the archive anywhere: packing it small takes twice as long."""


def zipped(folder: Path, archive: Path, level: int = LEVEL) -> None:
    """Write the files of a folder into a zip; everyone may read them, as Lambda asks."""
    with zipfile.ZipFile(archive, "w") as target:
        for path in _files(folder):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.external_attr, entry.compress_type, entry.create_system = READABLE << 16, zipfile.ZIP_DEFLATED, 3
            target.writestr(entry, path.read_bytes(), compresslevel=level)


def tarred(folder: Path, archive: Path) -> None:
    """Write the files of a folder, symbolic links as they are, into a gzipped tar."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for path in _files(folder):
            target.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)


def digest(*paths: Path) -> str:
    """SHA-256 of files one after the other, in hexadecimal."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = EXECUTABLE if entry.mode & 0o100 else READABLE
    return entry


# ---- Bytecode ----
# Lambda's code folder is read-only: every cold start would compile four hundred modules again.


OPTIONS = ("-q", "--invalidation-mode", "unchecked-hash", "-p", "/var/task")
KEPT_SECONDS = 30 * 86_400


def compile_all(packages: Path, interpreter: str) -> None:
    """Compile every module of a folder."""
    _compile(packages, interpreter, [str(packages)])


def compile_changed(packages: Path, kept: Path) -> None:
    """Likewise, by this Python, whose bytecode of earlier bundles is taken from a folder that keeps it for a month.

    A bundle differs from the one before in few modules, and those of libraries are in every bundle.
    """
    kept.mkdir(parents=True, exist_ok=True)
    places = {source: kept / f"{_key(packages, source)}.pyc" for source in packages.rglob("*.py")}
    missing = [source for source, place in places.items() if not place.is_file()]
    if missing:
        _compile(packages, sys.executable, ["-i", "-"], missing)
    for source, place in places.items():
        made = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        if made.is_file():
            aside = place.with_suffix(".aside")  # what is interrupted is no bytecode of a later bundle
            shutil.copyfile(made, aside)
            aside.rename(place)
        else:
            made.parent.mkdir(exist_ok=True)
            shutil.copyfile(place, made)
            os.utime(place)
    for each in kept.iterdir():
        if time.time() - each.stat().st_mtime > KEPT_SECONDS:
            each.unlink()


def _key(packages: Path, source: Path) -> str:
    name = f"{sys.version}\0{source.relative_to(packages).as_posix()}\0"
    return hashlib.sha256(name.encode() + source.read_bytes()).hexdigest()


def _compile(packages: Path, interpreter: str, what: list[str], listed: Iterable[Path] = ()) -> None:
    subprocess.run(  # noqa: S603 - a Python
        [interpreter, "-m", "compileall", *OPTIONS, "-s", str(packages), *what],
        check=True,
        env={"PYTHONHASHSEED": "0"},
        input="\n".join(map(str, listed)),
        text=True,
    )


# ---- Locked packages as wheels ----
# They are fetched once, into `.tools/wheels/<name>-<version of Python>`, with the hashes of the lock file. Later packaging
# needs no network. None of them has an install step: unpacking is installing.


PATIENCE_SECONDS = 600
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps", "--require-hashes")
TARGET = ("--only-binary=:all:", "--implementation=cp")
AL2023 = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
MACHINES = {
    "lambda": AL2023,  # where Lambda's Python 3.13 runs
    "job": AL2023,  # EMR 7
    "judge": AL2023,
    "pull": AL2023,
    "table": AL2023,
    "image": AL2023,  # older than Debian 12
}
"""By lock file: the C libraries that compiled packages may ask for."""


def wheels(name: str, tools: Path, locks: Path = LOCKS, python: str = "3.11") -> tuple[Path, ...]:
    """The wheels of a lock file for a version of Python, fetched if missing or changed; SetUpError if that fails."""
    store, lock = tools / "wheels" / f"{name}-{python}", locks / f"{name}.lock"
    mark = store / MARK
    with alone(store):
        if not mark.is_file() or mark.read_bytes() != lock.read_bytes():
            _fetch(name, lock, store, python)
    return tuple(sorted(store.glob("*.whl")))


def unpack(wheel: Path, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Install those files of a wheel that are wanted, and none of its programs, into a folder of packages.

    Raises SetUpError for a wheel that is not installed by unpacking it.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".data/scripts/" not in name]
        if any(name.partition("/")[0].endswith(".data") for name in names):
            raise SetUpError(f"{wheel.name} has an install step: packaging only unpacks.")
        archive.extractall(folder, [name for name in names if wanted(name)])  # noqa: S202 - names are checked above


def _fetch(name: str, lock: Path, store: Path, python: str) -> None:
    shutil.rmtree(store, ignore_errors=True)
    with atomic_dir(store.parent) as folder:
        made = folder / name
        platforms = [f"--platform={machine}" for machine in MACHINES[name]]
        target = (*TARGET, f"--python-version={python}", *platforms)
        command = [sys.executable, *PIP, *target, "--dest", str(made), "--requirement", str(lock)]
        try:
            subprocess.run(command, check=True, timeout=PATIENCE_SECONDS, capture_output=True)  # noqa: S603 - our own pip
        except subprocess.SubprocessError as error:
            advice = "fix the network and run `make package` again"
            raise SetUpError(f"The packages of {lock.name} could not be fetched as locked: {advice}.") from error
        shutil.copyfile(lock, made / MARK)
        made.rename(store)


# ---- Modules of the bundles ----
# An import at the top of a module counts as one in a function does; one for types alone does not. A module that asks an
# extension point reaches what features register there (`lakegate/features/feature_table.py`). Data files go with the modules of
# their folder.


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

UNUSED_BY_THE_ENGINE = (
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
UNUSED_BY_TABLES = (*UNUSED_BY_JOBS, *(pattern for pattern in UNUSED_BY_THE_ENGINE if "s3" not in pattern))
UNUSED_BY_THE_JUDGE = (*UNUSED_BY_JOBS, *UNUSED_BY_THE_ENGINE)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The code of the functions, of those that read data, pull, or keep tables, or of the job, as deployed."""

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
    tuple(
        f"functions.{name}_handler" for name in ("intake", "completion", "sweep", "notify", "api", "anchor", "naming")
    ),
    frozenset({"dynamodb", "emr-serverless", "events", "kms", "lambda", "s3", "secretsmanager", "sns", "sqs", "sts"}),
)
"""The services of lakegate/aws/wiring.py and of what features register for it."""
PULL = Bundle("pull", ("functions.pull_handler",), FUNCTIONS.services)
"""The pull function alone has a client of SSH."""
TABLE = Bundle("table", ("functions.table_handler",), frozenset({"dynamodb", "glue", "s3", "sts"}), UNUSED_BY_TABLES)
"""The function that keeps tables alone has Iceberg's library."""
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
    """Files that entry modules reach by imports at `root`: modules, the packages around them, and data files."""
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


_PLACE = re.compile(r"lakegate(\.\w+)+:\w+")
"""The place of an object that is imported when it is wanted: `MODULE:ATTRIBUTE`."""


@cache
def _reached_by(path: Path) -> frozenset[str]:
    """The dotted names that a module imports at run time, or names as a place, and what is registered where it asks."""
    nodes = tuple(_nodes(ast.parse(path.read_bytes())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    if path.stem != feature_table.__name__.rpartition(".")[2]:  # of that table only what a module asks for is reached
        names |= {str(text).partition(":")[0] for text in texts if _PLACE.fullmatch(str(text))}
    if any(name.startswith(extension_points.__name__) for name in names):
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


LAUNCHER = Path(__file__).with_name("python.sh")
"""The launcher of the job: no path of EMR's image matters, because nothing says where its Python is."""
PROGRAM = "bin/python3.11"
"""Below `python/` of an archive that carries an interpreter."""
OF_AN_INTERPRETER = ("bin/*", "lib/*.so*", "lib/python3.11/*")
"""The parts of it that a job needs,"""
NOT_OF_AN_INTERPRETER = ("lib/python3.11/site-packages/*", "lib/python3.11/test/*", "lib/python3.11/config-*", "*.a")
"""but for these."""
LAMBDA_PYTHON = "3.13"
"""The runtime in template.yaml; it is on Amazon Linux 2023."""
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = Path("lib/python3.11/site-packages")
NAME_LENGTH = 16
JARS = ("deequ.jar", "avro.jar")
"""Pinned jars of the release, in their order; the others stand for what EMR has."""


def bundle_functions(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the functions' bundle; its path.

    `kept`, here and below: for the Python of this machine and packed quickly, with bytecode of earlier bundles from this folder.
    """
    return _zip(FUNCTIONS, "lambda/functions.zip", (root, tools, build), LAMBDA_PYTHON, kept)


def bundle_judge(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the judge function's bundle; its path."""
    return _zip(JUDGE, "judge/judge.zip", (root, tools, build), LAMBDA_PYTHON, kept)


def bundle_pull(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the pull function's bundle; its path."""
    return _zip(PULL, "pull/pull.zip", (root, tools, build), LAMBDA_PYTHON, kept)


def bundle_table(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the bundle of the function that keeps tables; its path."""
    return _zip(TABLE, "table/table.zip", (root, tools, build), LAMBDA_PYTHON, kept)


def bundle_job(root: Path, tools: Path, build: Path, python: Path | None = None) -> Path:
    """Make the job's release; its folder.

    `python`: an archive with a Python 3.11 that runs from any folder (`python/bin/python3.11`), which then travels with the job;
    None: the one that the environment variable PYTHON_ARCHIVE names, or none.
    """
    named = os.environ.get("PYTHON_ARCHIVE", "")
    carried = python or (Path(named) if named else None)

    def make(folder: Path) -> Path:
        environment, release = folder / "environment", folder / "release"
        release.mkdir()
        fill(environment / SITE, JOB, root, tools)
        _add_launcher(environment)
        if carried:
            _add_interpreter(environment, carried)
        tarred(environment, release / "environment.tar.gz")
        shutil.copyfile(root / "spark_jobs/validate.py", release / "validate.py")
        for name, jar in zip(JARS, jars(tools), strict=False):
            shutil.copyfile(jar, release / name)
        return release

    def place(made: Path) -> Path:
        return build / "code" / digest(*sorted(made.iterdir()))[:NAME_LENGTH]

    release = _placed(make, build, place)
    (build / "release").write_text(release.name)
    return release


def _zip(bundle: Bundle, path: str, folders: tuple[Path, Path, Path], python: str, kept: Path | None) -> Path:
    """Make a bundle for Lambda; its path.

    Modules are compiled, for another Python than this one where it is on this machine's PATH; bytecode of another version is of
    no use.
    """
    root, tools, build = folders

    def make(folder: Path) -> Path:
        packages, made = folder / "packages", folder / Path(path).name
        fill(packages, bundle, root, tools, RUNNING if kept else python)
        if kept:
            compile_changed(packages, kept)
        elif interpreter := _interpreter(python):
            compile_all(packages, interpreter)
        zipped(packages, made, QUICK if kept else LEVEL)
        return made

    return _placed(make, build, lambda _: build / path)


def _placed(make: Callable[[Path], Path], build: Path, place: Callable[[Path], Path]) -> Path:
    """Make something aside and move it to its place; nothing else stays beside it."""
    with atomic_dir(build) as folder:
        made = make(folder)
        target = place(made)
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir()
        return made.rename(target)


def _interpreter(python: str) -> str | None:
    """The program of a Python on this machine; None where there is at most its name, as the shims of version managers are."""
    found = sys.executable if python == RUNNING else shutil.which(f"python{python}")
    if found is None:
        return None
    ended = subprocess.run([found, "-c", ""], check=False, capture_output=True)  # noqa: S603 - a Python
    return None if ended.returncode else found


def _add_launcher(environment: Path) -> None:
    """Put the program there that starts the job and its workers."""
    (environment / "bin").mkdir()
    shutil.copyfile(LAUNCHER, environment / "bin/python")
    (environment / "bin/python").chmod(EXECUTABLE)


def _add_interpreter(environment: Path, archive: Path) -> None:
    """Put the Python of an archive beside the packages. SetUpError where it is none."""
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(environment, [each for each in packed if _is_of_interpreter(each.name)], filter="data")
    except (OSError, tarfile.TarError) as error:
        raise SetUpError(f"{archive} cannot be read as an archive of Python: {type(error).__name__}.") from error
    if not (environment / "python" / PROGRAM).is_file():
        raise SetUpError(
            f"{archive.name} has no python/{PROGRAM}: it is none of Python 3.11 that runs from any folder."
        )


def _is_of_interpreter(name: str) -> bool:
    first, _, rest = name.partition("/")
    parts = (
        [fnmatchcase(rest, each) for each in OF_AN_INTERPRETER],
        [fnmatchcase(rest, each) for each in NOT_OF_AN_INTERPRETER],
    )
    return first == "python" and any(parts[0]) and not any(parts[1])

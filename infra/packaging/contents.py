"""What goes into the bundles: which folders of ours, which packages, and which parts of them nobody needs there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from infra.packaging.wheels import unpack, wheels

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "lakegate"
"""What the folders are imported as (decision 40)."""


CODE = frozenset({".py", ".json", ".yaml", ".html"})


UNUSED = (
    "lakegate/contracts/examples/*",  # for people
    "botocore/data/*/examples-1.json*",  # for people
    "aws_lambda_powertools/event_handler/openapi/swagger_ui/*",  # a page that nobody is shown
    "numpy/*/tests/*",  # a third of it
    "pandas/tests/*",  # likewise
    "*.dist-info/RECORD",  # lists files that are not here
)


SERVICES = "botocore/data/"


UNUSED_BY_JOBS = (
    "lakegate/contracts/documents/*",  # documents are read when they are published, never behind the door
    "lakegate/contracts/compile/sql/*",  # SQL is translated when it is published
    "lakegate/schemas/official/*",  # likewise
)


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
    "lakegate/contracts/compile/rules/*",  # contracts are compiled when they are published
    "lakegate/contracts/lint/*",  # likewise
)
"""A zip for Lambda has 250 MB unpacked at the most; the engine needs pyarrow, DuckDB and numpy, which have 310 MB."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The code of the functions, of those that read data (judge and drift), of the pull function, or of the job, as deployed."""

    name: str
    """Of its lock file."""
    ours: tuple[str, ...]
    """Folders and modules of the repository, imported as `lakegate.<folder>`."""
    services: frozenset[str]
    """The services that boto3 calls: it describes 400 services of AWS, in 25 MB."""
    unused: tuple[str, ...] = ()
    """Further patterns of files that are left out."""


FUNCTIONS = Bundle(
    "lambda",
    ("contracts", "functions"),
    frozenset({"dynamodb", "emr-serverless", "events", "kms", "lambda", "s3", "secretsmanager", "sns", "sqs", "sts"}),
)
"""The services of lakegate/aws/wiring.py."""


PULL = Bundle("pull", FUNCTIONS.ours, FUNCTIONS.services)
"""The pull function alone has a client of SSH."""


JOB = Bundle("job", ("contracts", "engine", "spark_jobs"), frozenset({"s3", "sts"}), UNUSED_BY_JOBS)
"""`sts`: a run may have to turn a token into its role's credentials."""


JUDGE = Bundle(
    "judge",
    (
        "contracts",
        "engine",
        "functions",
        *(f"spark_jobs/{name}.py" for name in ("__init__", "answer", "judge_function", "keeping", "store", "uploads")),
    ),
    frozenset({"dynamodb", "s3"}),
    UNUSED_BY_THE_JUDGE,
)


def fill(folder: Path, bundle: Bundle, root: Path, tools: Path, python: str = "3.11") -> None:
    """Fill a folder with packages: ours from the repository at `root`, the others from their wheels for a Python."""
    use = partial(wanted, services=bundle.services, unused=bundle.unused)
    for wheel in wheels(bundle.name, tools, python=python):
        unpack(wheel, folder, use)
    (folder / PACKAGE).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / PACKAGE / "__init__.py", folder / PACKAGE / "__init__.py")
    for name in bundle.ours:
        for path in (root / name).rglob("*") if (root / name).is_dir() else (root / name,):
            place = PACKAGE / path.relative_to(root)
            if path.suffix in CODE and use(place.as_posix()):
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / place)


def wanted(name: str, services: frozenset[str], unused: tuple[str, ...] = ()) -> bool:
    """Whether a file of a package belongs into a bundle that calls these services."""
    if any(fnmatchcase(name, pattern) for pattern in (*UNUSED, *unused)):
        return False
    service, inside, _ = name.removeprefix(SERVICES).partition("/")
    return not (name.startswith(SERVICES) and inside) or service in services

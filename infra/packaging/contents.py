"""What goes into the bundles: which folders of ours, which packages, and which parts of them nobody needs there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from lakegate.infra.packaging.wheels import unpack, wheels

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "lakegate"
"""What the folders are imported as (decision 40)."""
CODE = frozenset({".py", ".json", ".yaml"})
UNUSED = (
    "lakegate/contracts/examples/*",  # for people
    "lakegate/contracts/documents/*",  # documents are read when they are published, never behind the door
    "lakegate/contracts/compile/sql/*",  # SQL is translated when it is published
    "lakegate/contracts/schemas/official/*",  # likewise
    "botocore/data/*/examples-1.json*",  # for people
    "numpy/*/tests/*",  # a third of it
    "pandas/tests/*",  # likewise
    "*.dist-info/RECORD",  # lists files that are not here
)
SERVICES = "botocore/data/"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The code of the functions, or of the job, as it is deployed."""

    name: str
    """Of its lock file."""
    ours: tuple[str, ...]
    """Folders of the repository, imported as `lakegate.<folder>`."""
    services: frozenset[str]
    """The services that boto3 calls: it describes 400 services of AWS, in 25 MB."""


FUNCTIONS = Bundle("lambda", ("contracts", "functions"), frozenset({"dynamodb", "emr-serverless", "events", "s3"}))
JOB = Bundle("job", ("contracts", "engine", "spark_jobs"), frozenset({"s3", "sts"}))
"""`sts`: a run may have to turn a token into its role's credentials."""


def fill(folder: Path, bundle: Bundle, root: Path, tools: Path) -> None:
    """Fill a folder with packages: ours from the repository at `root`, the others from their wheels."""
    use = partial(wanted, services=bundle.services)
    for wheel in wheels(bundle.name, tools):
        unpack(wheel, folder, use)
    (folder / PACKAGE).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / PACKAGE / "__init__.py", folder / PACKAGE / "__init__.py")
    for name in bundle.ours:
        for path in (root / name).rglob("*"):
            place = PACKAGE / path.relative_to(root)
            if path.suffix in CODE and use(place.as_posix()):
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / place)


def wanted(name: str, services: frozenset[str]) -> bool:
    """Whether a file of a package belongs into a bundle that calls these services."""
    if any(fnmatchcase(name, pattern) for pattern in UNUSED):
        return False
    service, inside, _ = name.removeprefix(SERVICES).partition("/")
    return not (name.startswith(SERVICES) and inside) or service in services

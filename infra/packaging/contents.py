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

CODE = frozenset({".py", ".json", ".yaml"})
UNUSED = (
    "contracts/examples/*",  # for people
    "contracts/formats/*",  # documents are read when they are published, never behind the door
    "contracts/queries/*",  # SQL is translated when it is published
    "contracts/schemas/official/*",  # likewise
    "functions/memory/*",  # the twins are for tests
    "botocore/data/*/examples-1.json*",  # for people
    "numpy/*/tests/*",  # a third of it
    "pandas/tests/*",  # likewise
    "*.dist-info/RECORD",  # lists files that are not here
)
SERVICES = "botocore/data/"


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one half of the house is deployed with."""

    name: str
    """Of its lock file."""
    ours: tuple[str, ...]
    """Folders of the repository."""
    services: frozenset[str]
    """What boto3 speaks to: it describes 400 services of AWS, in 25 MB."""


FUNCTIONS = Bundle("lambda", ("contracts", "functions"), frozenset({"dynamodb", "emr-serverless", "events", "s3"}))
JOB = Bundle("job", ("contracts", "engine", "spark_jobs"), frozenset({"s3", "sts"}))
"""`sts`: a run may have to turn a token into its role's credentials."""


def fill(folder: Path, bundle: Bundle, root: Path, tools: Path) -> None:
    """Fill a folder with packages: ours from the repository at `root`, the others from their wheels."""
    use = partial(wanted, services=bundle.services)
    for wheel in wheels(bundle.name, tools):
        unpack(wheel, folder, use)
    for name in bundle.ours:
        for path in (root / name).rglob("*"):
            place = path.relative_to(root)
            if path.suffix in CODE and use(place.as_posix()):
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / place)


def wanted(name: str, services: frozenset[str]) -> bool:
    """Whether a file of a package belongs into a bundle that speaks to these services."""
    if any(fnmatchcase(name, pattern) for pattern in UNUSED):
        return False
    service, inside, _ = name.removeprefix(SERVICES).partition("/")
    return not (name.startswith(SERVICES) and inside) or service in services

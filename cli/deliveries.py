"""The files of one delivery as a person names them: files, folders, patterns, and the same in S3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.model.contract import Contract
    from lakegate.spark_jobs.store import PinnedObject

MARKERS = ("_", ".")
"""How names begin that writers put beside their data: `_SUCCESS`, `_temporary`, `.part-0.crc`."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a delivery."""

    name: str
    """As a person names it: a path, or `s3://bucket/key`."""
    pin: PinnedObject | None = None
    """The version of an object of S3; None of a file."""
    label: str | None = None
    """The name in results, where it is not `name`."""

    @property
    def shown(self) -> str:
        """The name in results."""
        return self.name if self.label is None else self.label


def files_of(names: list[str]) -> list[DataFile]:
    """The files that names stand for, those of a folder or a pattern in the order of their names.

    InputError for a folder without files, for a pattern that nothing matches, and for an object that cannot be read.
    """
    return [file for name in names for file in (_objects(name) if name.startswith("s3://") else _files(Path(name)))]


def by_dataset(contract: Contract, files: list[DataFile]) -> dict[str, list[DataFile]]:
    """The files of each dataset of a contract that has some, in the order of the contract.

    A file belongs to the dataset that its name, the beginning of its name before a sign, or the nearest folder of it is, and else
    to the one by whose name the path of a server has it (`data/{model}.csv`). Raises InputError for a file that belongs to none.
    """
    names = {
        name.casefold(): each.name for each in contract.datasets for name in (each.physical or each.name, each.name)
    }
    found: dict[str, list[DataFile]] = {each.name: [] for each in contract.datasets}
    for file in files:
        dataset = _named(file.shown, names) or _located(file.shown, names, contract)
        if dataset is None:
            known = f"no dataset of the contract ({listed(found)})"
            raise InputError(f"{file.shown} is named after {known}: rename it, or choose one with --dataset")
        found[dataset].append(file)
    return {name: its for name, its in found.items() if its}


def _named(file: str, names: Mapping[str, str]) -> str | None:
    *folders, last = file.casefold().split("/")
    stem = last.partition(".")[0]
    begun = [name for name in names if re.match(rf"{re.escape(name)}($|[^0-9a-z])", stem)]
    found = max(begun, key=len) if begun else next((each for each in reversed(folders) if each in names), None)
    return None if found is None else names[found]


def _located(file: str, names: Mapping[str, str], contract: Contract) -> str | None:
    for server in contract.about.servers:
        for key in ("path", "location"):
            before, placeholder, after = str(server.settings.get(key, "")).rpartition("/")[2].partition("{model}")
            for name, dataset in names.items() if placeholder else ():
                pattern = "".join(".*" if each == "*" else re.escape(each) for each in f"{before}{name}{after}")
                if re.fullmatch(pattern, file.rpartition("/")[2], re.IGNORECASE):
                    return dataset
    return None


def _objects(name: str) -> list[DataFile]:
    from lakegate.cli.buckets import pinned  # noqa: PLC0415 - loads boto3, which files do not need

    return [DataFile(f"s3://{each.bucket}/{each.key}", each) for each in pinned(name)]


def _files(name: Path) -> list[DataFile]:
    return [DataFile(str(path)) for path in _paths(name)]


def _paths(name: Path) -> list[Path]:
    if name.is_dir():
        inside = (path.relative_to(name) for path in name.rglob("*") if path.is_file())
        found = sorted(name / path for path in inside if not any(part.startswith(MARKERS) for part in path.parts))
        if not found:
            raise InputError(f"{name} holds no files: name a folder with data, or the files")
        return found
    if has_magic(str(name)) and not name.exists():
        matched = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = sorted(path for path in matched if path.is_file())
        if not found:
            raise InputError(f"nothing matches {name}: name a file, a folder or another pattern")
        return found
    return [name]

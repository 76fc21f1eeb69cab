"""Data files as named: folders, patterns, S3, references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.admission.multi_file_delivery import (
    MANIFEST,
    MAX_BYTES,
    PartVersion,
    completed_by_manifest,
    read_manifest,
)
from lakegate.base.errors import InputError
from lakegate.base.text import did_you_mean, join_words, matches_pieces
from lakegate.contract.contract_model import Contract, full_dataset_name
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.contract.semantic_versions import major
from lakegate.job.job_storage import PinnedObject
from lakegate.library.contract_files import NO_DATASET, STANDARD_INPUT, plan_of, url_of
from lakegate.local_check.table_readers import METADATA_SUFFIXES
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference
from lakegate.transfer.s3_checksums import checksum_of_file

if TYPE_CHECKING:
    References = dict[str, tuple[Plan, list[Path]]]

# ---- Files of a delivery as a person names them ----


TABLE_FOLDERS = ("_delta_log", "metadata")
"""Of a table of Delta, and of Iceberg."""
MARKERS = ("_", ".")
"""Beginnings of names that writers put beside their data: `_SUCCESS`, `_temporary`, `.part-0.crc`."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a delivery."""

    name: str
    """As a person names it: a path, or `s3://bucket/key`."""
    pin: PinnedObject | None = None
    """The version of an object of S3; None of a file."""
    label: str | None = None
    """The name in results, where it is not `name`."""
    snapshot: str = ""
    """Of a table: the snapshot whose rows these are, or the version."""

    @property
    def shown(self) -> str:
        """The name in results; bytes that are no UTF-8 are escapes."""
        name = self.name if self.label is None else self.label
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def files_of(names: list[str]) -> list[DataFile]:
    """The files that names stand for, those of a folder or a pattern in the order of their names.

    InputError for a folder without files, for a pattern that nothing matches, and for an object that cannot be read.
    """
    files: list[DataFile] = []
    for name in names:
        if name.startswith("s3://"):
            from lakegate.local_check.data_in_s3 import pin_objects  # noqa: PLC0415 - boto3, for objects alone

            files += [DataFile(f"s3://{pin.bucket}/{pin.key}", pin) for pin in pin_objects(name, MARKERS)]
        else:
            files += [DataFile(str(path)) for path in _paths(Path(name))]
    return files


def by_dataset(contract: Contract, files: list[DataFile]) -> dict[str, list[DataFile]]:
    """The files of each dataset of a contract that has some, in the order of the contract.

    A file belongs to the dataset that its name, the beginning of its name before a sign, or the nearest folder of it is, and else
    to the one by whose name the path of a server has it (`data/{model}.csv`). Raises InputError for a file that belongs to none.
    """
    if not contract.datasets:
        raise InputError(NO_DATASET)
    names = {
        name.casefold(): dataset.name
        for dataset in contract.datasets
        for name in (dataset.physical or dataset.name, dataset.name)
    }
    found: dict[str, list[DataFile]] = {dataset.name: [] for dataset in contract.datasets}
    for file in files:
        dataset = _named(file.shown, names) or _located(file.shown, names, contract)
        if dataset is None:
            known = f"no dataset of the contract ({join_words(found)})"
            raise InputError(f"{file.shown} is named after {known}: rename it, or choose one with --dataset")
        found[dataset].append(file)
    return {name: its for name, its in found.items() if its}


def _named(file: str, names: Mapping[str, str]) -> str | None:
    *folders, last = file.casefold().split("/")
    stem = last.partition(".")[0]
    begun = [name for name in names if re.match(rf"{re.escape(name)}($|[^0-9a-z])", stem)]
    found = max(begun, key=len) if begun else next((folder for folder in reversed(folders) if folder in names), None)
    return None if found is None else names[found]


def _located(file: str, names: Mapping[str, str], contract: Contract) -> str | None:
    for server in contract.about.servers:
        for key in ("path", "location"):
            before, placeholder, after = str(server.settings.get(key, "")).rpartition("/")[2].partition("{model}")
            for name, dataset in names.items() if placeholder else ():
                if matches_pieces(file.rpartition("/")[2].casefold(), f"{before}{name}{after}".casefold().split("*")):
                    return dataset
    return None


def table_format_of(name: str) -> str | None:
    """The format of the table whose folder, or whose metadata file, this is: `delta`, `iceberg`, or None where it is neither."""
    if name.endswith(METADATA_SUFFIXES):
        return "iceberg"
    if name.startswith("s3://"):
        from lakegate.local_check.data_in_s3 import names_in  # noqa: PLC0415 - boto3, for objects alone

        log, metadata = (names_in(f"{name}/{each}") for each in TABLE_FOLDERS)
    else:
        log, metadata = (_names_in(Path(name, each)) for each in TABLE_FOLDERS)
    if log:
        return "delta"
    return "iceberg" if any(each.endswith(METADATA_SUFFIXES) for each in metadata) else None


def _names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()] if folder.is_dir() else []


def _paths(name: Path) -> list[Path]:
    if name.is_dir() and (format_ := table_format_of(str(name))) is not None:
        raise InputError(
            f"{name} is a table ({format_}), of which only some files are current: read it with --table instead"
        )
    if name.is_dir():
        inside = (path.relative_to(name) for path in name.rglob("*") if path.is_file())
        paths = sorted(name / path for path in inside if not any(part.startswith(MARKERS) for part in path.parts))
        if not paths:
            raise InputError(f"{name} holds no files: name a folder with data, or the files")
        return paths
    if has_magic(str(name)) and not name.exists():
        matched = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        paths = sorted(path for path in matched if path.is_file())
        if not paths:
            raise InputError(f"nothing matches {name}: name a file, a folder or another pattern")
        return paths
    return [name]


# ---- Complete deliveries of parts ----


def complete(files: list[DataFile], unit: DeliveryUnit) -> list[DataFile]:
    """The files that the gate would judge together: of a folder with a manifest those that it lists.

    InputError where the gate would reject the delivery as incomplete, and for files of several folders, each a delivery.
    """
    local = [file for file in files if file.pin is None]
    folders = {Path(file.name).parent for file in local}
    if unit is DeliveryUnit.OBJECT or not local:
        return files
    if len(folders) > 1 or len(local) < len(files):
        raise InputError("the contract takes the files directly in one folder as a delivery: name one folder")
    (folder,) = folders
    manifest = folder / MANIFEST
    if unit is not DeliveryUnit.MANIFEST or not manifest.is_file():
        return files
    with manifest.open("rb") as stream:
        body = stream.read(MAX_BYTES + 1)
    algorithms = {entry.name: entry.checksum.partition(":")[0] for entry in read_manifest(body)}
    there = [_version(Path(file.name), algorithms.get(Path(file.name).name, "")) for file in local]
    chosen = completed_by_manifest(there, body, may_arrive=False)
    if chosen.problems:
        raise InputError(f"the gate would reject this delivery: {chosen.problems[0]}")
    listed = {part.name for part in chosen.parts}
    return [file for file in local if Path(file.name).name in listed]


def _version(path: Path, algorithm: str) -> PartVersion:
    found = path.stat()
    checksum = f"{algorithm}:{checksum_of_file(path, algorithm)}" if algorithm else ""
    return PartVersion(path.name, "", found.st_size, checksum, datetime.fromtimestamp(found.st_mtime, UTC), True)


# ---- Referenced data: `--reference NAME=FILE` ----


def files_by_dataset(contract: Contract, plan: Plan, named: list[str], others: Iterable[Contract]) -> References:
    """Files by the dataset they stand for, with the plan they are read by.

    `named`: `NAME=FILE`, the name a dataset of the contract, or of another one as the plan's rules name it.
    `others`: those other contracts. InputError for a name that no dataset has, or whose contract is not given.
    """
    contracts = (contract, *others)
    found: References = {}
    for each in named:
        name, _, path = each.partition("=")
        if not path:
            raise InputError(f"--reference {each}: write NAME=FILE, with a dataset of the contract or CONTRACT/DATASET")
        dataset = _named_dataset(contract, plan, name)
        if dataset not in found:
            found[dataset] = (_plan(dataset, contracts), [])
        found[dataset][1].append(Path(path))
    return found


def _named_dataset(contract: Contract, plan: Plan, name: str) -> str:
    if contract.dataset(name) is not None:
        return full_dataset_name(contract.id, name, major(contract.version))
    datasets = plan.references
    found = [dataset for dataset in datasets if name in _names(dataset)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"--reference {name}: several datasets have this name: write one of {', '.join(found)}")
    known = f"rules refer to {', '.join(datasets)}" if datasets else "no rule refers to another dataset"
    raise InputError(f"--reference {name}: neither a dataset of the contract nor one that a rule refers to; {known}")


def _names(dataset: str) -> set[str]:
    """Possible names of a dataset: with and without its contract, with and without its major version."""
    name = dataset.rpartition("/")[2]
    return {dataset, dataset.rpartition("_v")[0], name, name.rpartition("_v")[0]}


def _plan(full_name: str, contracts: Iterable[Contract]) -> Plan:
    for contract in contracts:
        for dataset in contract.datasets:
            if full_dataset_name(contract.id, dataset.name, major(contract.version)) == full_name:
                return plan_of(contract, dataset.name)
    raise InputError(
        f"--reference: {full_name} is a dataset of another contract: give its document with --reference-contract FILE"
    )


def link_references(references: References, folder: Path) -> tuple[Reference, ...]:
    """The same in the words of the job; plans and links to the files are put into a folder."""
    return tuple(
        _reference(dataset, *found, folder / f"accepted-{at}") for at, (dataset, found) in enumerate(references.items())
    )


def _reference(dataset: str, plan: Plan, files: list[Path], folder: Path) -> Reference:
    parts = [link_file(path, folder, number) for number, path in enumerate(files)]
    address = folder / "plan.json"
    address.write_bytes(plan.to_bytes())
    uri, digest = address.as_uri(), plan.digest
    return Reference(dataset, 0, tuple(AcceptedPart(part.as_uri(), part.stat().st_size, uri, digest) for part in parts))


def link_file(path: Path, folder: Path, number: int) -> Path:
    """A link with a name that means nothing to Spark: a file's own name must not choose a codec, or another file."""
    if not path.exists():
        if str(path) == STANDARD_INPUT:
            raise InputError("data is not read from standard input: write it into a file")
        if (url := url_of(path)) is not None:
            raise InputError(f"{url} is not read: data is in files and below s3://, so download it first")
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"{path} does not exist.{did_you_mean(path.name, beside)}")
    if not path.is_file():
        raise InputError(f"{path} is not a file: name files one by one")
    link = folder / f"part-{number:05d}"
    folder.mkdir(parents=True, exist_ok=True)
    link.symlink_to(path.resolve())
    return link

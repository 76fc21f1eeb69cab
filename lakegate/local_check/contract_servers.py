"""The data of a contract's own server, for `lakegate check --server`, and of a table, for `--table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension, names
from lakegate.base.text import join_words, plural
from lakegate.contract.contract_model import Contract, Dataset, Server
from lakegate.contract.file_formats import Storage
from lakegate.local_check.data_files import DataFile
from lakegate.local_check.table_data import PARQUET, write_table

POINT: Final = "servers"


@dataclass(frozen=True, slots=True)
class DataOnServer:
    """The data of a dataset on a server."""

    files: list[DataFile]
    storage: Storage | None = None
    """Of files that were written of a table; None where they are as the contract says."""


ReadServer = Callable[[Server, Contract, Sequence[Dataset], Path], Mapping[str, DataOnServer]]
"""A row of the extension point `servers`, by the type of a server: the data of datasets, by their names. A folder is for files
that it writes; nothing that grows with the data is kept in memory. Raises InputError, SetUpError."""


@dataclass(frozen=True, slots=True)
class ServedData:
    """The data of datasets of a contract that stands elsewhere than in files of a delivery."""

    data: Mapping[str, DataOnServer]

    @property
    def files(self) -> Mapping[str, list[DataFile]]:
        """The files of each dataset."""
        return {name: data.files for name, data in self.data.items()}

    def judged_by(self, contract: Contract) -> Contract:
        """The contract, or another version of it, with the format that the files of each dataset have."""
        storages = {name: data.storage for name, data in self.data.items() if data.storage is not None}
        datasets = (replace(each, storage=storages.get(each.name, each.storage)) for each in contract.datasets)
        return replace(contract, datasets=tuple(datasets))


def served_tables(contract: Contract, name: str, dataset: str | None, folder: Path) -> ServedData:
    """The data of each dataset, or of one, on a server of the contract. InputError where it cannot be read."""
    server = _named(contract, name)
    if server.type not in names(POINT):
        raise InputError(
            f"the server {server.name} is of the type {server.type or 'none'}, which is not read: export its tables as Parquet "
            f"or CSV and name the files; types that are read: {join_words(names(POINT))}"
        )
    read: ReadServer = load_extension(POINT, server.type)
    return ServedData(read(server, contract, _chosen(contract, dataset), folder))


def named_table(contract: Contract, name: str, snapshot: str | None, dataset: str | None, folder: Path) -> ServedData:
    """A table as the data of the contract's dataset, or of the one that is chosen. InputError where it cannot be read."""
    datasets = _chosen(contract, dataset)
    if len(datasets) != 1:
        known = join_words([each.name for each in datasets]) or "none"
        raise InputError(f"--table is the data of one dataset: choose it with --dataset ({known})")
    file = write_table(name, snapshot, folder / "table.parquet").file
    return ServedData({datasets[0].name: DataOnServer([file], PARQUET)})


def _chosen(contract: Contract, dataset: str | None) -> list[Dataset]:
    datasets = [each for each in contract.datasets if dataset in {None, each.name}]
    if not datasets:
        known = join_words([each.name for each in contract.datasets])
        raise InputError(f"the contract has no dataset {dataset}: choose one with --dataset ({known})")
    return datasets


def without_files(contract: Contract) -> InputError:
    """The refusal of a check that names neither files nor a server."""
    if not contract.about.servers:
        return InputError("name the files of a delivery")
    known = ", ".join(f"{server.name or '(no name)'} ({server.type})" for server in contract.about.servers)
    return InputError(
        f"name the files of a delivery, or with --server one of the contract's "
        f"{plural(len(contract.about.servers), 'server')}, which is then asked for its data: {known}"
    )


def _named(contract: Contract, name: str) -> Server:
    servers = [server for server in contract.about.servers if server.name == name]
    if len(servers) != 1:
        known = join_words([server.name for server in contract.about.servers if server.name]) or "it names none"
        problem = f"has several servers {name}" if servers else f"has no server {name}"
        raise InputError(f"--server {name}: the contract {problem} ({known})")
    return servers[0]

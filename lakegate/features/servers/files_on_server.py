"""Servers that hold files, or tables of Iceberg and Delta: of this machine, in S3, and in the Glue catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lakegate.base.errors import InputError, SetUpError
from lakegate.base.extension_points import names
from lakegate.contract.contract_model import Contract, Dataset, Server
from lakegate.local_check.contract_servers import DataOnServer
from lakegate.local_check.data_files import by_dataset, files_of
from lakegate.local_check.table_data import PARQUET, write_table
from lakegate.local_check.table_readers import POINT as TABLE_READERS

PLACE: Final = "{model}"
"""In an address, the name of a dataset."""
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def local(server: Server, contract: Contract, datasets: Sequence[Dataset], folder: Path) -> Mapping[str, DataOnServer]:
    """A row of the extension point `servers`: the files of `path`, a file, folder or pattern; or the table in it."""
    path = _text(server, "path")
    if "://" in path:
        raise InputError(f"the server {server.name} is local, and its path {path} is none of this machine")
    return _data(server, path, contract, datasets, folder)


def s3(server: Server, contract: Contract, datasets: Sequence[Dataset], folder: Path) -> Mapping[str, DataOnServer]:
    """A row of the extension point `servers`: the objects of `location`, an object, folder or pattern; or the table in it.

    Credentials, region and endpoint are those of boto3: another endpoint would get the signature of these credentials.
    """
    location, endpoint = _text(server, "location"), server.settings.get("endpointUrl")
    if not location.startswith("s3://"):
        raise InputError(
            f"the server {server.name} has the location {location}, which is not of the form s3://BUCKET/KEY"
        )
    if endpoint and endpoint not in {os.environ.get(each) for each in ENDPOINTS}:
        raise SetUpError(
            f"the server {server.name} has an endpoint of its own, which gets requests that your credentials sign: "
            f"set {ENDPOINTS[0]} to the same address if you trust it ({endpoint})"
        )
    return _data(server, location, contract, datasets, folder)


def glue(server: Server, contract: Contract, datasets: Sequence[Dataset], folder: Path) -> Mapping[str, DataOnServer]:
    """A row of the extension point `servers`: tables of Iceberg in a `database` of the Glue catalog."""
    del contract
    return _tables(
        {each.name: f"glue.{_text(server, 'database')}.{each.physical or each.name}" for each in datasets}, folder
    )


def _data(
    server: Server, place: str, contract: Contract, datasets: Sequence[Dataset], folder: Path
) -> Mapping[str, DataOnServer]:
    is_table = str(server.settings.get("format", "")).strip().lower() in names(TABLE_READERS)
    if PLACE in place or len(contract.datasets) == 1:
        named = {dataset.name: place.replace(PLACE, dataset.physical or dataset.name) for dataset in datasets}
        if is_table:
            return _tables(named, folder)
        return {name: DataOnServer(files_of([its])) for name, its in named.items()}
    if is_table:
        raise InputError(f"the server {server.name} has one table for several datasets: write {PLACE} for their names")
    files = by_dataset(contract, files_of([place]))
    wanted = {dataset.name: DataOnServer(files[dataset.name]) for dataset in datasets if dataset.name in files}
    if not wanted:
        raise InputError(f"{place} has no files of the dataset {datasets[0].name}")
    return wanted


def _tables(named: Mapping[str, str], folder: Path) -> Mapping[str, DataOnServer]:
    files = (write_table(place, None, folder / f"server-{at}.parquet").file for at, place in enumerate(named.values()))
    return {name: DataOnServer([file], PARQUET) for name, file in zip(named, files, strict=True)}


def _text(server: Server, key: str) -> str:
    setting = server.settings.get(key)
    if not isinstance(setting, str) or not setting:
        raise InputError(f"the server {server.name} has no `{key}`: its data cannot be found")
    return setting

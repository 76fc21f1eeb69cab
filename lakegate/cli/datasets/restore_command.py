"""`lakegate restore`: the bytes of a lost accepted object are put back, and recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument
from lakegate.cli.command_runner import CommandResult, stack_command
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.ledger.restore_object import LostObject, lost_object, record_restored
from lakegate.transfer.download_files import File, is_as_listed
from lakegate.transfer.upload_files import To, read, send


@dataclass(frozen=True, slots=True)
class RestoredObject:
    """A lost object that has its bytes again."""

    dataset: str = field(metadata=DATASET_KEY)
    workload: str
    key: str
    lost: str
    """The version that the ledger stated."""
    version: str


@stack_command
def restore(
    there: DeployedStack,
    key: Annotated[
        str,
        Argument(
            metavar="OBJECT",
            help="As `lakegate verify --objects` names it: a key of the lake, or s3://…",
        ),
    ],
    file: Annotated[Path, Argument(help="A file with the same bytes.")],
) -> CommandResult[RestoredObject]:
    """Put a lost object of an accepted delivery back. Its bytes are those that the ledger states, or nothing is changed.

    Example: lakegate restore accepted/shop/orders_v1/ingest_date=2026-11-21/workload=613d/part-00000.csv day.csv

    Size and checksum of the file are compared with the block of the delivery. The object gets a new version, which the ledger
    records, and which the readers' manifest lists. It needs ErasurePolicy and OperatorPolicy.

    Exit code: 0 put back, 2 the file has other bytes, or the object is not lost.
    """
    dependencies = there.dependencies()
    name = key.removeprefix(f"s3://{dependencies.places.lake}/")
    lost = lost_object(dependencies, name)
    _refuse_other(file, lost)
    version = _there_already(file, lost)
    if not version:
        source = read(file)
        with terminal.bytes_arriving(name, source.size) as arrived:
            to = To(dependencies.places.lake, name, there.account)
            version = send(client("s3"), source, to, arrived)
    dependencies.run(record_restored(dependencies, lost, version))
    words = f"Restored: {name}, version {version}. The manifest of {lost.chain} lists it."
    return CommandResult(RestoredObject(lost.chain, lost.workload, name, lost.stated.version, version), [words])


def _refuse_other(file: Path, lost: LostObject) -> None:
    """Raise InputError for a file that does not have the bytes that the ledger states."""
    found, stated = read(file), lost.stated
    if found.size != stated.size:
        raise InputError(
            f"{file} has {plural(found.size, 'byte')}, the lost object had {stated.size:,}: it is not the same"
        )
    if not is_as_listed(file, select_fields(File, stated, place="")):
        raise InputError(
            f"{file} has another {stated.checksum.partition(':')[0]} than the lost object: it is not the same"
        )


def _there_already(file: Path, lost: LostObject) -> str:
    """The version that somebody put back by hand, if it has these bytes; else empty."""
    current = lost.current
    if current is None or not current.checksum:
        return ""
    same = is_as_listed(file, select_fields(File, current, place=""))
    return current.version if same else ""

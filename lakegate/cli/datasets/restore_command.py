"""`lakegate restore`: a recalled delivery, or the bytes of a lost accepted object, are put back, and recorded."""

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
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, facade_command
from lakegate.cli.deliveries.decide_command import standing_decided
from lakegate.cli.options import ApiContract
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.ledger.restore_object import LostObject, lost_object, record_restored
from lakegate.gate.person_decisions import WantedRestoration
from lakegate.library.described_deliveries import RecalledDelivery
from lakegate.library.stack import StackFacade
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


@facade_command
def restore(
    there: StackFacade,
    name: Annotated[
        str,
        Argument(
            metavar="DELIVERY|OBJECT",
            help="A workload's id, the beginning of one, or a landing key; or a key of the lake, or s3://…, as"
            " `lakegate verify --objects` names a lost object.",
        ),
    ],
    file: Annotated[Path | None, Argument(help="Of a lost object: a file with the same bytes.")] = None,
    *,
    reason: Annotated[str | None, Option(help="Of a delivery: why; every consumer can read it.")] = None,
    contract: ApiContract = None,
) -> CommandResult[RestoredObject | RecalledDelivery]:
    """Put a recalled delivery back into the current state of its dataset, or a lost object of an accepted delivery into the lake.

    Example: lakegate restore orders/day.csv --reason "it was of the right month"

    Example: lakegate restore accepted/shop/orders_v1/ingest_date=2026-11-21/workload=613d/part-00000.csv day.csv

    A delivery is current again, unless a later one supersedes it; what it supersedes leaves again, and is named. A landing key
    means the newest delivery of it that was recalled. Your ARN and the reason are in the ledger, and subscribers are told. With
    --api it takes a workload's whole id.

    The bytes of an object are those that the ledger states, or nothing is changed: size and checksum of the file are compared
    with the block of the delivery. The object gets a new version, which the ledger records, and which the readers' manifest
    lists. It needs ErasurePolicy and OperatorPolicy.

    Exit code: 0 put back, 2 the delivery was not recalled, the file has other bytes, or the object is not lost.
    """
    if (file is None) is (reason is None):
        raise InputError("a delivery is restored with --reason, a lost object with a file that has its bytes")
    if reason is not None:
        return standing_decided(there, name, contract, WantedRestoration("restore", reason))
    assert file is not None
    if contract is not None:
        raise InputError("--contract is for deliveries")
    return _put_back(there.there, name, file)


def _put_back(there: DeployedStack, key: str, file: Path) -> CommandResult[RestoredObject | RecalledDelivery]:
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

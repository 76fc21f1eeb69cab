"""`lakegate restore`: the bytes of a lost accepted object are put back, and recorded."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.download import File, is_as_listed
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.cli.transfer import To, read, send
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted
from lakegate.functions.adapters.clients import client
from lakegate.functions.usecases.restoring import lost_object, record_restored
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from lakegate.functions.usecases.restoring import LostObject


def restore(
    key: Annotated[
        str,
        typer.Argument(
            metavar="OBJECT",
            help="As `lakegate verify --objects` names it: a key of the lake, or s3://…",
            show_default=False,
        ),
    ],
    file: Annotated[Path, typer.Argument(help="A file with the same bytes.", show_default=False)],
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Put a lost object of an accepted delivery back. Its bytes are those that the ledger states, or nothing is changed.

    Example: lakegate restore accepted/shop/orders_v1/ingest_date=2026-11-21/workload=613d/part-00000.csv day.csv

    Size and checksum of the file are compared with the block of the delivery. The object gets a new version, which the ledger
    records, and which the readers' manifest lists. It needs ErasurePolicy and OperatorPolicy.

    Exit code: 0 put back, 2 the file has other bytes, or the object is not lost.
    """
    with opened(stack, local=local) as there:
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
        run(record_restored(dependencies, lost, version), dependencies.clock)
    if as_json:
        names = {"line": lost.chain, "workload": lost.workload, "key": name}
        terminal.print_json({**names, "lost": lost.stated.version, "version": version})
        return
    text = f"Restored: {name}, version {version}. The manifest of {lost.chain} lists it."
    terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def _refuse_other(file: Path, lost: LostObject) -> None:
    """Raise InputError for a file that does not have the bytes that the ledger states."""
    found, stated = read(file), lost.stated
    if found.size != stated.size:
        raise InputError(
            f"{file} has {counted(found.size, 'byte')}, the lost object had {stated.size:,}: it is not the same"
        )
    if not is_as_listed(file, File(stated.key, stated.version, stated.size, stated.checksum, "")):
        raise InputError(
            f"{file} has another {stated.checksum.partition(':')[0]} than the lost object: it is not the same"
        )


def _there_already(file: Path, lost: LostObject) -> str:
    """The version that somebody put back by hand, if it has these bytes; else empty."""
    current = lost.current
    if current is None or not current.checksum:
        return ""
    same = is_as_listed(file, File(current.key, current.version, current.size, current.checksum, ""))
    return current.version if same else ""

"""`lakegate dataset digest`, `inspect` and `slice`: files of published data on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from lakegate.cli import terminal
from lakegate.cli.engine import EngineName
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - likewise
from lakegate.cli.parents import ParentPaths  # noqa: TC001 - likewise
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

Read = TypeVar("Read")
app: Final = typer.Typer(
    no_args_is_help=True,
    help="Files of published data: their rows, hashes and, of slices, offsets and times.",
    pretty_exceptions_enable=False,
)


@app.callback()
def dataset() -> None:
    """Files of published data: their rows, hashes and, of slices, offsets and times."""


@app.command()
def digest(
    files: Annotated[list[Path], typer.Argument(help="Parquet files.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Print the logical and the physical hash of Parquet files, as Open Data Fabric writes them.

    The logical hash is of the rows: it stays the same where a file is written again with other row groups, compression or
    encoding. The physical hash is of the bytes.

    Example: lakegate dataset digest accepted/part-00000.parquet
    """
    from lakegate.engine.digest.files import digest_of  # noqa: PLC0415 - pyarrow is for this command alone

    found = [(each, _named(each, digest_of)) for each in files]
    if as_json:
        terminal.print_json({"files": [{"file": str(each), **asdict(one)} for each, one in found]})
        return
    for each, one in found:
        typer.echo(f"{escaped(str(each))}: {counted(one.rows, 'row')}, {counted(one.size, 'byte')}")
        typer.echo(f"  logical   {one.logical}")
        typer.echo(f"  physical  {one.physical}")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A Parquet file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Check that a file is a slice of Open Data Fabric, and print its offsets, operations and times.

    Offsets must be consecutive, each correction a pair of rows, and no common column may have a null.

    Example: lakegate dataset inspect slice.parquet
    """
    from lakegate.engine.digest.files import slice_in  # noqa: PLC0415 - likewise

    found = _named(file, slice_in)
    system, event = ([each.isoformat() for each in times] for times in (found.system_times, found.event_times))
    if as_json:
        offsets = [found.first_offset, found.last_offset]
        document = {"offsets": offsets, "operations": found.operations, "systemTimes": system, "eventTimes": event}
        terminal.print_json({"file": str(file), **document})
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in found.operations.items() if count)
    typer.echo(f"{escaped(str(file))}: offsets {found.first_offset} to {found.last_offset}")
    typer.echo(f"  operations    {counts}")
    typer.echo(f"  system times  {' to '.join(system)}")
    typer.echo(f"  event times   {' to '.join(event)}")


@app.command("slice")
def slice_(  # noqa: PLR0913, PLR0917 - every option of the command is one
    data: Annotated[list[str], typer.Argument(help="The files of one delivery.", show_default=False)],
    contract: Annotated[Path, typer.Option(help="The contract document (ODCS, DCS or DCM).", show_default=False)],
    into: Annotated[Path, typer.Option("--into", "-o", help="The folder of the slices.", show_default=False)],
    offset: Annotated[int, typer.Option(min=0, help="The offset of the first row.")] = 0,
    event_time: Annotated[
        str | None, typer.Option(help="The column with the time of each event; else it is that of the command.")
    ] = None,
    parents: ParentPaths = None,
    dataset: Annotated[str | None, typer.Option(help="Which dataset, where the contract has several.")] = None,
    measured_by: Annotated[EngineName, typer.Option("--engine", help="What judges and writes.")] = EngineName.NATIVE,
    as_json: AsJson = False,
) -> None:
    """Judge files as `lakegate check` does, and write the accepted rows as slices of Open Data Fabric.

    A slice is Parquet: offset, op, system_time, event_time, then the contract's columns with their types. It is named by the
    offset of its first row; a large delivery becomes several. No file is overwritten.

    Example: lakegate dataset slice weather.csv --contract weather.dcm.yaml --into slices

    Exit codes: those of `lakegate check`; nothing is written unless the delivery is accepted.
    """
    from lakegate.cli.slicing import Slicing, write  # noqa: PLC0415 - the engine is for this command alone

    raise typer.Exit(
        write(Slicing(contract, data, into, dataset, offset, event_time, parents, measured_by), as_json=as_json)
    )


def _named(path: Path, read: Callable[[Path], Read]) -> Read:
    """What is read of a file; an error names it."""
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None

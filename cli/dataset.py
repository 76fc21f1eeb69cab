"""`lakegate dataset`: files of published data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation
from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

Read = TypeVar("Read")
app: Final = typer.Typer(
    no_args_is_help=True,
    help="Files of published data: their hashes and, of slices, their offsets and times.",
    pretty_exceptions_enable=False,
)


@app.callback()
def dataset() -> None:
    """Files of published data: their hashes and, of slices, their offsets and times."""


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
        typer.echo(f"{escaped(str(each))}: {one.rows:,} rows, {one.size:,} bytes")
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


def _named(path: Path, read: Callable[[Path], Read]) -> Read:
    """What is read of a file; an error names it."""
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None

"""`lakegate dataset`: published data, and files of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

import typer

from lakegate.cli import terminal
from lakegate.cli.engine import EngineName
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, LINE, AsJson, Line, Local, StackName
from lakegate.cli.parents import ParentPaths  # noqa: TC001 - likewise
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.projection import NOTHING, Projection, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.cli.odf_ledger import Proof

Read = TypeVar("Read")
KeyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The public key that must have signed: a PEM file, known from elsewhere.", show_default=False),
]
Anchor: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="HEIGHT=DIGEST of the ledger, known from elsewhere; may be given several times."),
]
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


@app.command()
def read(  # noqa: PLR0913 - a command has these options
    source: Annotated[
        str,
        typer.Argument(
            help=f"A line, or a folder that `lakegate get` or `lakegate dataset import` filled. {LINE}",
            show_default=False,
        ),
    ],
    *,
    as_at: Annotated[
        str | None, typer.Option(help="What was published at this time: a day, or a time with its zone.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="Events up to this time, as they are known now.")] = None,
    changes_since: Annotated[int, typer.Option(min=NOTHING, help="Only deliveries above this height.")] = NOTHING,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file: .parquet, .csv or .duckdb (a view).")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=10_000, help="Rows to show, without --output.")] = 20,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Read the rows of a line that publishes slices: as known at a time, as true at a time, or what is new.

    Slices without a row of the answer are not read. Both times together are allowed.

    Example: lakegate dataset read sales_v1 --as-at 2026-11-01 --output sales.parquet
    """
    from lakegate.cli.dataset_read import Reading  # noqa: PLC0415 - the engine is for this command alone
    from lakegate.cli.dataset_read import read as read_rows  # noqa: PLC0415 - likewise

    times = [time_of(each) if each is not None else None for each in (as_at, as_of)]
    wanted = Projection(times[0], times[1], changes_since)
    read_rows(Reading(source, wanted, output, limit, stack, local), as_json=as_json)


@app.command("export")
def export_(
    line: Line,
    destination: Annotated[str, typer.Argument(help="A folder, or s3://BUCKET/PREFIX.", show_default=False)],
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Write a line of slices as a dataset of Open Data Fabric, with verdicts and the ledger as attachments.

    A web server in front of the destination makes it a repository of ODF. What is there already is not written again.

    Example: lakegate dataset export sales_v1 s3://shared-data/sales
    """
    from lakegate.cli.dataset_export import export_dataset  # noqa: PLC0415 - the engine is for this command alone

    export_dataset(line, destination, stack, local=local, as_json=as_json)


@app.command("import")
def import_(  # noqa: PLR0913 - a command has these options
    source: Annotated[
        str, typer.Argument(help="A folder, s3://BUCKET/PREFIX, or the address of a web server.", show_default=False)
    ],
    folder: Annotated[Path, typer.Argument(help="The target folder; created if missing.", show_default=False)],
    *,
    key: KeyFile = None,
    anchor: Anchor = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Bring a dataset of Open Data Fabric into a folder: what is new, and only when all of it is verified.

    Blocks, hashes, offsets, times, columns and rows are compared; of a dataset that Lakegate wrote also the ledger in its
    attachments. `lakegate dataset read` reads the folder. An interrupted command goes on when it is repeated.

    Example: lakegate dataset import https://data.example.com/sales sales/
    """
    from lakegate.cli.dataset_import import import_dataset  # noqa: PLC0415 - likewise

    import_dataset(source, folder, _proof(key, anchor), stack if local else None, as_json=as_json)


@app.command()
def verify(
    folder: Annotated[
        Path, typer.Argument(help="A folder that `import` or `export` filled, or a copy of one.", show_default=False)
    ],
    key: KeyFile = None,
    anchor: Anchor = None,
    as_json: AsJson = False,
) -> None:
    """Verify a dataset of Open Data Fabric in a folder: its chain, the ledger in its attachments, and all of its data.

    Example: lakegate dataset verify sales/ --key key.pem

    Exit code: 0 everything is as stated, 1 something is not, 2 there is no dataset.
    """
    from lakegate.cli.dataset_verify import verify_dataset  # noqa: PLC0415 - likewise

    raise typer.Exit(verify_dataset(folder, _proof(key, anchor), as_json=as_json))


def _proof(key: Path | None, anchor: list[str] | None) -> Proof:
    from lakegate.cli.anchors import anchors_in  # noqa: PLC0415 - likewise
    from lakegate.cli.odf_ledger import Proof  # noqa: PLC0415 - likewise
    from lakegate.cli.signing import signatures_by  # noqa: PLC0415 - likewise

    return Proof(signatures_by(key), anchors_in(anchor or ()))


def _named(path: Path, read: Callable[[Path], Read]) -> Read:
    """What is read of a file; an error names it."""
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None

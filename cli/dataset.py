"""`lakegate dataset`: published data of lines, and datasets of Open Data Fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli.dataset_files import app
from lakegate.cli.options import DEFAULT_STACK, LINE, AsJson, Line, Local, StackName
from lakegate.contracts.lake.projection import NOTHING, Projection, time_of

if TYPE_CHECKING:
    from lakegate.cli.odf_ledger import Proof

KeyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The public key that must have signed: a PEM file, known from elsewhere.", show_default=False),
]
Anchor: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="HEIGHT=DIGEST of the ledger, known from elsewhere; may be given several times."),
]

MustBe: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--is",
        help="The line, or the identity (did:odf:…), that the dataset must have; a key signs all lines of a stack.",
        show_default=False,
    ),
]
Unsigned: TypeAlias = Annotated[
    bool, typer.Option("--unsigned", help="With --key: also the blocks above the highest signed one.")
]


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
    changes_since: Annotated[
        int, typer.Option(min=NOTHING, help="Only deliveries above this height, with all of their events.")
    ] = NOTHING,
    events: Annotated[
        bool, typer.Option("--events", help="All events, also those that a later one retracts or corrects.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file: .parquet, .csv or .duckdb (a view).")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=10_000, help="Rows to show, without --output.")] = 20,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Read the rows of a line that publishes slices: as known at a time, as true at a time, or what is new.

    Rows that were retracted or corrected by then are left out, unless events are wanted. Slices without a row of the answer
    are not read. Both times together are allowed.

    Example: lakegate dataset read sales_v1 --as-at 2026-11-01 --output sales.parquet
    """
    from lakegate.cli.dataset_read import Reading  # noqa: PLC0415 - the engine is for this command alone
    from lakegate.cli.dataset_read import read as read_rows  # noqa: PLC0415 - likewise

    times = [time_of(each) if each is not None else None for each in (as_at, as_of)]
    wanted = Projection(times[0], times[1], changes_since)
    is_raw = events or changes_since > NOTHING
    read_rows(Reading(source, wanted, is_raw, output, limit, stack, local), as_json=as_json)


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
    must_be: MustBe = None,
    unsigned: Unsigned = False,
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

    import_dataset(
        source, folder, _proof(key, anchor, must_be, takes_unsigned=unsigned), stack if local else None, as_json=as_json
    )


@app.command()
def verify(  # noqa: PLR0913 - a command has these options
    folder: Annotated[
        Path, typer.Argument(help="A folder that `import` or `export` filled, or a copy of one.", show_default=False)
    ],
    key: KeyFile = None,
    anchor: Anchor = None,
    must_be: MustBe = None,
    *,
    unsigned: Unsigned = False,
    as_json: AsJson = False,
) -> None:
    """Verify a dataset of Open Data Fabric in a folder: its chain, the ledger in its attachments, and all of its data.

    Example: lakegate dataset verify sales/ --key key.pem

    Exit code: 0 everything is as stated, 1 something is not, 2 there is no dataset.
    """
    from lakegate.cli.dataset_verify import verify_dataset  # noqa: PLC0415 - likewise

    raise typer.Exit(verify_dataset(folder, _proof(key, anchor, must_be, takes_unsigned=unsigned), as_json=as_json))


def _proof(key: Path | None, anchor: list[str] | None, must_be: list[str] | None, *, takes_unsigned: bool) -> Proof:
    from lakegate.cli.anchors import anchors_in  # noqa: PLC0415 - likewise
    from lakegate.cli.odf_ledger import Proof  # noqa: PLC0415 - likewise
    from lakegate.cli.signing import signatures_by  # noqa: PLC0415 - likewise

    return Proof(signatures_by(key), anchors_in(anchor or ()), frozenset(must_be or ()), takes_unsigned)


@app.command()
def watermark(
    line: Annotated[str, typer.Argument(help=LINE, show_default=False)],
    time: Annotated[
        str, typer.Argument(help="A day (its beginning, UTC), or a time with its zone.", show_default=False)
    ],
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Set the watermark of a line with slices: no event before this time is expected any more. It never moves back.

    The ledger records who set it. Rows of earlier events that are delivered later are late (`lateEvents` in the contract).

    Example: lakegate dataset watermark visits_v1 2026-11-02
    """
    from lakegate.cli.watermark import mark  # noqa: PLC0415 - AWS is for this command alone

    mark(line, time_of(time), stack, local=local, as_json=as_json)


@app.command("rebuild-state")
def rebuild_state(
    line: Annotated[str, typer.Argument(help=LINE, show_default=False)],
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Compute what a line with a `mergeStrategy` knows of its keys again, from its slices.

    A state that is another one, or cannot be read, is replaced. The digest does not depend on its division into files.

    Example: lakegate dataset rebuild-state sales_v1
    """
    from lakegate.cli.merge_state import rebuild  # noqa: PLC0415 - the engine is for this command alone

    rebuild(line, stack, local=local, as_json=as_json)

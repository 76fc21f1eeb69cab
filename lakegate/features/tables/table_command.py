"""`lakegate table`: what the table of a dataset shows, and the statement that reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError, SetUpError
from lakegate.base.text import plural
from lakegate.base.timestamps import moment
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, stack_command
from lakegate.cli.options import TIMES, DatasetName, Yes
from lakegate.cli.terminal import Word
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.tables.adopt_deliveries import AdoptedDeliveries, adopt_deliveries
from lakegate.features.tables.all_tables import has_table
from lakegate.features.tables.erased_table import table_metadata
from lakegate.features.tables.keep_table import HEIGHT, TIME, TableKind, changes_table, table_name
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.dependencies import Dependencies


class ReadingProgram(StrEnum):
    """Programs that read tables of Iceberg."""

    ATHENA = "athena"
    DUCKDB = "duckdb"
    PANDAS = "pandas"
    SPARK = "spark"
    TRINO = "trino"


class ReadStatement(NamedTuple):
    """The text that reads a table; `{at}` is the place of the time travel."""

    text: str
    at: str
    """That of a snapshot."""


STATEMENTS: Final = {
    ReadingProgram.ATHENA: ReadStatement('SELECT * FROM "{database}"."{table}"{at};', " FOR VERSION AS OF {snapshot}"),
    ReadingProgram.DUCKDB: ReadStatement(
        "INSTALL iceberg; LOAD iceberg; CREATE SECRET (TYPE s3, PROVIDER credential_chain);\n"
        "ATTACH '{account}' AS glue (TYPE iceberg, ENDPOINT_TYPE 'glue');\n"
        'SELECT * FROM glue."{database}"."{table}"{at};',
        " AT (VERSION => {snapshot})",
    ),
    ReadingProgram.PANDAS: ReadStatement(
        "import pandas as pd\n"
        "from pyiceberg.catalog import load_catalog\n"
        'table = load_catalog("glue", type="glue"{options}).load_table("{database}.{table}")\n'
        "frame = table.scan({at}).to_pandas(types_mapper=pd.ArrowDtype)",
        "snapshot_id={snapshot}",
    ),
    ReadingProgram.SPARK: ReadStatement(
        "-- spark.sql.catalog.glue=org.apache.iceberg.spark.SparkCatalog, spark.sql.catalog.glue.type=glue\n"
        "SELECT * FROM glue.`{database}`.`{table}`{at};",
        " VERSION AS OF {snapshot}",
    ),
    ReadingProgram.TRINO: ReadStatement(
        'SELECT * FROM iceberg."{database}"."{table}"{at};', " FOR VERSION AS OF {snapshot}"
    ),
}


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table, and the statements that read it."""

    dataset: str = field(metadata=DATASET_KEY)
    database: str
    table: str
    rows: TableKind
    """Which rows of the dataset it has."""
    height: int | None
    """Of the newest block that the table shows, or of the one that was asked for; null: it shows nothing yet."""
    snapshot: int | None
    time: str | None
    """Of that block, RFC 3339, UTC."""
    lacks: int
    """Blocks that change rows, and that the table does not show yet; of rejected rows, those that add some."""
    statements: dict[str, str]


@stack_command
def table(  # noqa: PLR0913 - a command has these options
    there: DeployedStack,
    dataset: DatasetName,
    *,
    reader: Annotated[ReadingProgram | None, Option("--for", help="Only the statement of this program.")] = None,
    height: Annotated[int | None, Option(min=0, help="The table as it was with this block of the ledger.")] = None,
    at: Annotated[datetime | None, Option(formats=TIMES, help="The table as it was at this time (UTC).")] = None,
    rejected: Annotated[bool, Option(help="The table of rows that were rejected alone, with the reasons.")] = False,
    adopt: Annotated[
        bool, Option(help="Put deliveries into the table that were accepted before the dataset was one.")
    ] = False,
    dry_run: Annotated[bool, Option(help="With --adopt: say what would be adopted, and change nothing.")] = False,
    yes: Yes = False,
) -> CommandResult[ShownTable | AdoptedDeliveries]:
    """Print what the table of a dataset shows, and the statement by which Athena, DuckDB, pandas, Spark or Trino reads it.

    A dataset has a table where its contract says `publishAs: iceberg` and the stack has a database for tables, and one of its
    rejected rows where the contract says `onReject: rows`, too.

    With --adopt, every accepted delivery without typed files is read again, and written as such. It takes as long as downloading
    them; repeat it after an interruption, it goes on. The ledger records who did it. Exit code: 3 some could not be read.

    Example: lakegate table orders --for athena

    Example: lakegate table orders --adopt --dry-run

    Example: lakegate table orders --rejected
    """
    gate = there.dependencies()
    name, database = dataset_named(gate, dataset, in_force=True), there.outputs.get("TableDatabase", "")
    if not database:
        raise SetUpError(f"the stack {there.name} keeps no tables: deploy it with TableDatabase=NAME")
    if adopt:
        if reader or rejected or height is not None or at:
            raise InputError("--adopt is about a whole dataset: leave --for, --rejected, --height and --at out")
        return adopt_deliveries(there, gate, name, dry_run=dry_run, yes=yes)
    if dry_run or yes:
        raise InputError("--dry-run and --yes are about --adopt")
    kind = TableKind.REJECTED if rejected else TableKind.ACCEPTED
    if not has_table(gate, name):
        raise InputError(f"{name} is no table: say `publishAs: iceberg` in its contract, and publish a new version")
    if not has_table(gate, name, kind):
        raise InputError(f"rejected rows of {name} are no table: say `onReject: rows` in its contract, too")
    snapshots = list(_snapshots(gate, database, name, kind))
    above = gate.ledger.blocks(name, snapshots[-1].height if snapshots else -1, strict=False)
    top = above[-1].height if above else snapshots[-1].height if snapshots else -1
    if height is not None and height > top:
        raise InputError(f"{name} has no block of height {height}: the newest is {top}")
    until = moment(at.replace(tzinfo=UTC)) if at else None
    found = next((each for each in reversed(snapshots) if each.is_until(height, until)), None)
    is_earlier = height is not None or until is not None
    if is_earlier and (
        found is None or (found is not snapshots[-1] and _was_taken_out(gate, name, kind, found, (height, until)))
    ):
        first = (
            f"the first that it keeps is of height {snapshots[0].height}, {snapshots[0].time}" if snapshots else "none"
        )
        after = "" if found is None else ", but those of then were taken out, by an erasure or because of their age"
        raise InputError(
            f"the table of {name} has no snapshot of then: {first}{after}; `lakegate log {name}` names every delivery"
        )
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")  # of the local stack
    own = f', **{{"glue.endpoint": "{endpoint}", "s3.endpoint": "{endpoint}", "s3.region": "{there.region}"}}'
    places = {"account": there.account, "database": database, "table": table_name(name, kind)}
    places["options"] = own if endpoint else ""
    travel = str(found.id) if is_earlier and found is not None else ""
    statements = {
        each.value: statement.text.format(**places, at=travel and statement.at.format(snapshot=travel))
        for each, statement in STATEMENTS.items()
        if reader in {None, each}
    }
    shown = ShownTable(
        name,
        database,
        table_name(name, kind),
        kind,
        found.height if found else None,
        found.id if found else None,
        found.time if found else None,
        sum(changes_table(each, kind) for each in above),
        statements,
    )
    return CommandResult(shown, _in_words(shown))


class _Snapshot(NamedTuple):
    height: int
    id: int
    time: str
    """Of the block."""

    def is_until(self, height: int | None, time: str | None) -> bool:
        return (height is None or self.height <= height) and (time is None or self.time <= time)


def _was_taken_out(
    gate: Dependencies, dataset: str, kind: TableKind, found: _Snapshot, until: tuple[int | None, str | None]
) -> bool:
    """Whether the table had a later snapshot than the one that was found, and then."""
    later = (block for block in gate.ledger.blocks(dataset, found.height, strict=False) if changes_table(block, kind))
    return any(_Snapshot(block.height, 0, block.system_time).is_until(*until) for block in later)


def _snapshots(gate: Dependencies, database: str, dataset: str, kind: TableKind) -> Iterator[_Snapshot]:
    """The snapshots of a table that show a height, the oldest first, as its newest file of metadata lists them."""
    document = table_metadata(gate, database, dataset, kind) or {}
    for each in document.get("snapshots", ()):
        summary = each.get("summary", {})
        if HEIGHT in summary:
            yield _Snapshot(int(summary[HEIGHT]), each["snapshot-id"], summary[TIME])


def _in_words(shown: ShownTable) -> Iterator[Word]:
    rows = "Rejected rows of " if shown.rows is TableKind.REJECTED else ""
    verb = "are" if rows else "is"
    name = f"{rows}{shown.dataset} {verb} the table {shown.database}.{shown.table} (Iceberg, in the Glue catalog)"
    if shown.height is None:
        yield f"{name}. It is made with the first delivery that is accepted as a table."
    else:
        yield f"{name}: as of height {shown.height}, since {shown.time} (snapshot {shown.snapshot})."
    if shown.lacks:
        yield f"It lacks {plural(shown.lacks, 'change')} of {shown.rows} data: usually it has them within a minute."
    for reader, text in shown.statements.items():
        yield ""
        yield reader.capitalize()
        yield from (f"  {line}" for line in text.splitlines())

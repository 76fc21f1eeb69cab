"""lakegate dataset: read, export, import, verify, watermark, digest, slice."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from lakegate.aws.open_stack import DEFAULT_STACK, DeployedStack, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.json_codec import DOCUMENT_NAME
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped
from lakegate.base.timestamps import moment
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, CommandGroup, Option
from lakegate.cli.command_runner import (
    BESIDE,
    CommandResult,
    command,
    gate_command,
    interruptible_folder,
    stack_command,
)
from lakegate.cli.contracts.check_command import CheckExit
from lakegate.cli.options import (
    DATASET_NAME,
    ContractFile,
    DatasetName,
    Local,
    OfDataset,
    ParentPaths,
    StackName,
    TargetFolder,
)
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import DATASET_KEY, Contract
from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.exchange.named_repositories import locate_repository
from lakegate.features.odf.exchange.odf_import import Proof
from lakegate.features.odf.format.odf_names import DID, dataset_id
from lakegate.features.odf.odf_publisher import set_watermark
from lakegate.features.odf.odf_settings import event_time_misfit, misfits
from lakegate.features.odf.read_slices import (
    LONGEST_SHOWN_VALUE,
    Reading,
    RowsRead,
    check_places,
    current,
    files_of_dataset,
    files_of_import,
    rows_of_files,
    slices_in,
)
from lakegate.gate.datasets.dataset_names import chains, dataset_named
from lakegate.gate.datasets.readers_manifest import whole
from lakegate.gate.datasets.slice_projection import NOTHING, Projection, time_of
from lakegate.gate.dependencies import Dependencies
from lakegate.library.contract_files import (
    ParentPlaces,
    load,
    plan_of,
)
from lakegate.local_check.check_data import EngineName, LocalDelivery, judge_delivery
from lakegate.local_check.data_files import files_of
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import SliceOrder, WrittenSlice
from lakegate.report.delivery_report import Report
from lakegate.report.verdict_text import show
from lakegate.transfer.download_files import Folder, ending_of, head_of
from lakegate.verdict.verdict import Verdict

# ---- `lakegate dataset digest`, `inspect` and `slice` ----


Read = TypeVar("Read")
app: Final = CommandGroup(
    help="Datasets of slices (Open Data Fabric). Any other one is read by `lakegate get` or `lakegate table`, and proved by"
    " `lakegate log` and `lakegate verify`."
)


@dataclass(frozen=True, slots=True)
class HashedFile:
    """The hashes of a Parquet file."""

    file: str
    rows: int
    size: int
    logical: str
    physical: str


@dataclass(frozen=True, slots=True)
class FileDigests:
    """Files with their hashes."""

    files: tuple[HashedFile, ...]


@dataclass(frozen=True, slots=True)
class InspectedSlice:
    """A slice of Open Data Fabric."""

    file: str
    offsets: tuple[int, int]
    operations: dict[str, int]
    system_times: tuple[str, ...] = field(metadata={DOCUMENT_NAME: "systemTimes"})
    event_times: tuple[str, ...] = field(metadata={DOCUMENT_NAME: "eventTimes"})


@dataclass(frozen=True, slots=True)
class FileOfSlice:
    """A slice that was written."""

    file: str
    rows: int
    offset: int
    event_times: tuple[str, str]
    size: int
    logical: str
    physical: str


@dataclass(frozen=True, slots=True)
class WrittenSlices:
    """The verdict on files, and their slices."""

    verdict: Verdict
    rows: int
    slices: tuple[FileOfSlice, ...]


@dataclass(frozen=True, slots=True)
class SliceCounts:
    """The number of slices that were read, and of those without a wanted row."""

    read: int
    skipped: int


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """Rows of a dataset."""

    dataset: str = field(metadata=DATASET_KEY)
    changes_since: int = field(metadata={DOCUMENT_NAME: "changesSince"})
    as_at: str | None = field(metadata={DOCUMENT_NAME: "asAt"})
    as_of: str | None = field(metadata={DOCUMENT_NAME: "asOf"})
    events: bool
    height: int
    rows: int
    slices: SliceCounts
    bytes: int
    unsliced: int
    output: str | None
    columns: tuple[str, ...]
    records: dict[str, Any] = field(metadata=BESIDE)
    """`records`: the first rows, where they are not written to a file."""


@dataclass(frozen=True, slots=True)
class DatasetWatermark:
    """The watermark of a dataset, and the one before."""

    dataset: str = field(metadata=DATASET_KEY)
    watermark: str
    before: str | None


@dataclass(frozen=True, slots=True)
class ExportedDataset:
    """The part of a dataset that is new at a destination."""

    dataset: str = field(metadata=DATASET_KEY)
    id: str
    destination: str
    head: str
    blocks: int
    slices: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RecomputedState:
    """The merge state of a dataset, computed again."""

    dataset: str = field(metadata=DATASET_KEY)
    keys: int
    digest: str
    stored: str
    """The digest of the state before; empty where one of its files was not as listed."""
    replaced: bool


@app.command("digest")
@command
def digest(
    files: Annotated[list[Path], Argument(help="Parquet files.")],
) -> CommandResult[FileDigests]:
    """Print the logical and the physical hash of Parquet files, as Open Data Fabric writes them.

    The logical hash is of the rows: it stays the same where a file is written again with other row groups, compression or
    encoding. The physical hash is of the bytes.

    Example: lakegate dataset digest accepted/part-00000.parquet
    """
    from lakegate.features.odf.format.logical_hash import digest_of  # noqa: PLC0415 - pyarrow is for this command alone

    found = [(file, _named(file, digest_of)) for file in files]
    words = (
        text
        for each, one in found
        for text in (
            f"{each}: {plural(one.rows, 'row')}, {plural(one.size, 'byte')}",
            f"  logical   {one.logical}",
            f"  physical  {one.physical}",
        )
    )
    hashes = (HashedFile(str(each), one.rows, one.size, one.logical, one.physical) for each, one in found)
    return CommandResult(FileDigests(tuple(hashes)), words)


@app.command("inspect")
@command
def inspect(
    file: Annotated[Path, Argument(help="A Parquet file.")],
) -> CommandResult[InspectedSlice]:
    """Check that a file is a slice of Open Data Fabric, and print its offsets, operations and times.

    Offsets must be consecutive, each correction a pair of rows, and no common column may have a null.

    Example: lakegate dataset inspect slice.parquet
    """
    from lakegate.features.odf.format.logical_hash import slice_in  # noqa: PLC0415 - likewise

    found = _named(file, slice_in)
    system, event = (tuple(each.isoformat() for each in times) for times in (found.system_times, found.event_times))
    counts = ", ".join(f"{count:,} {name}" for name, count in found.operations.items() if count)
    words = (
        f"{file}: offsets {found.first_offset} to {found.last_offset}",
        f"  operations    {counts}",
        f"  system times  {' to '.join(system)}",
        f"  event times   {' to '.join(event)}",
    )
    offsets = (found.first_offset, found.last_offset)
    return CommandResult(InspectedSlice(str(file), offsets, dict(found.operations), system, event), words)


@app.command("slice")
@command
def slice_(  # noqa: PLR0913, PLR0917 - every option of the command is one
    data: Annotated[list[str], Argument(help="The files of one delivery.")],
    contract: ContractFile,
    into: Annotated[Path, Option("--into", "-o", help="The folder of the slices.")],
    offset: Annotated[int, Option(min=0, help="The offset of the first row.")] = 0,
    event_time: Annotated[
        str | None,
        Option(
            help="The column with the time of each event: by default the contract's `eventTime`, else it is that of the command."
        ),
    ] = None,
    parents: ParentPaths = None,
    dataset: OfDataset = None,
    measured_by: Annotated[EngineName, Option("--engine", help="What judges and writes.")] = EngineName.NATIVE,
) -> CommandResult[WrittenSlices]:
    """Judge files as `lakegate check` does, and write the accepted rows as slices of Open Data Fabric.

    A slice is Parquet: offset, op, system_time, event_time, then the contract's columns with their types. It is named by the
    offset of its first row; a large delivery becomes several. No file is overwritten.

    Example: lakegate dataset slice weather.csv --contract weather.dcm.yaml --into slices

    Exit codes: those of `lakegate check`; nothing is written unless the delivery is accepted.
    """
    return write(Slicing(contract, data, into, dataset, offset, event_time, parents, measured_by))


def _named(path: Path, read: Callable[[Path], Read]) -> Read:
    """The content of a file; an error names it."""
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


# ---- `lakegate dataset` ----


KeyFile: TypeAlias = Annotated[
    Path | None,
    Option(help="The public key that must have signed: a PEM file, known from elsewhere."),
]
Anchor: TypeAlias = Annotated[
    list[str] | None,
    Option(help="HEIGHT=DIGEST of the ledger, known from elsewhere; may be given several times."),
]
MustBe: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--is",
        help="The dataset, or the identity (did:odf:…), that the dataset must have; a key signs all datasets of a stack.",
    ),
]

Unsigned: TypeAlias = Annotated[
    bool, Option("--unsigned", help="With --key: also the blocks above the highest signed one.")
]


@app.command("read")
@command
def read(  # noqa: PLR0913 - a command has these options
    source: Annotated[
        str,
        Argument(
            help=f"A dataset, or a folder that `lakegate get` or `lakegate dataset import` filled. {DATASET_NAME}",
        ),
    ],
    *,
    as_at: Annotated[
        str | None, Option(help="Rows with a system time up to this time: a day, or a time with its zone.")
    ] = None,
    as_of: Annotated[str | None, Option(help="Events up to this time, as they are known now.")] = None,
    changes_since: Annotated[
        int, Option(min=NOTHING, help="Only deliveries above this height, with all of their events.")
    ] = NOTHING,
    events: Annotated[bool, Option(help="All events, also those that a later one retracts or corrects.")] = False,
    every: Annotated[bool, Option("--all", help="Also rows of deliveries that were recalled.")] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="A new file: .parquet, .csv or .duckdb (a view).")
    ] = None,
    limit: Annotated[int, Option(min=0, max=10_000, help="Rows to show, without --output.")] = 20,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
) -> CommandResult[DatasetRows]:
    """Read the rows of a dataset that publishes slices: as known at a time, as true at a time, or what is new.

    Rows that were retracted or corrected by then are left out, unless events are wanted, and those of deliveries that had been
    recalled. Slices without a row of the answer are not read. Both times together are allowed.

    Example: lakegate dataset read sales_v1 --as-at 2026-11-01 --output sales.parquet
    """
    from lakegate.features.odf.read_slices import Reading  # noqa: PLC0415 - the engine is for this command alone

    times = [time_of(each) if each is not None else None for each in (as_at, as_of)]
    wanted = Projection(times[0], times[1], changes_since)
    is_raw = events or changes_since > NOTHING
    return read_rows(Reading(source, wanted, is_raw, every, output, limit, stack, local))


@app.command("export")
@gate_command
def export_(
    dependencies: Dependencies,
    dataset: DatasetName,
    destination: Annotated[str, Argument(help="A folder, s3://BUCKET/PREFIX, or REPOSITORY/NAME.")],
) -> CommandResult[ExportedDataset]:
    """Write a dataset of slices as a dataset of Open Data Fabric, with verdicts and the ledger as attachments.

    A web server in front of the destination makes it a repository of ODF. What is there already is not written again.

    Example: lakegate dataset export sales_v1 s3://shared-data/sales
    """
    from lakegate.features.odf.exchange.odf_export import export_dataset  # noqa: PLC0415 - the engine is for this command alone
    from lakegate.features.odf.exchange.odf_repositories import place_of  # noqa: PLC0415 - likewise

    found = export_dataset(
        dependencies,
        dataset_named(dependencies, _name_of(dependencies, dataset)),
        place_of(locate_repository(destination).address),
    )
    head = found.blocks[-1].name
    written = f"{plural(found.slices, 'new slice')}, {plural(found.size, 'byte')}"
    words = (
        f"{found.dataset}: {found.new:,} new of {plural(len(found.blocks), 'block')}, {written}",
        f"  identity  {found.id}",
        f"  head      {head}",
    )
    result = ExportedDataset(found.dataset, found.id, destination, head, found.new, found.slices, found.size)
    return CommandResult(result, words)


@app.command("import")
@command
def import_(  # noqa: PLR0913 - a command has these options
    source: Annotated[
        str,
        Argument(help="A folder, s3://BUCKET/PREFIX, the address of a web server, or REPOSITORY/NAME."),
    ],
    folder: TargetFolder,
    *,
    key: KeyFile = None,
    anchor: Anchor = None,
    must_be: MustBe = None,
    unsigned: Unsigned = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
) -> CommandResult[dict[str, object]]:
    """Bring a dataset of Open Data Fabric into a folder: what is new, and only when all of it is verified.

    Blocks, hashes, offsets, times, columns and rows are compared; of a dataset that Lakegate wrote also the ledger in its
    attachments. `lakegate dataset read` reads the folder. An interrupted command goes on when it is repeated.

    Example: lakegate dataset import https://data.example.com/sales sales/
    """
    from lakegate.features.odf.exchange.odf_import import import_dataset  # noqa: PLC0415 - likewise

    proof = _proof(key, anchor, must_be, takes_unsigned=unsigned)
    return import_dataset(source, folder, proof, stack if local else None)


@app.command("verify")
@command
def verify(
    folder: Annotated[Path, Argument(help="A folder that `import` or `export` filled, or a copy of one.")],
    key: KeyFile = None,
    anchor: Anchor = None,
    must_be: MustBe = None,
    *,
    unsigned: Unsigned = False,
) -> CommandResult[dict[str, object]]:
    """Verify a dataset of Open Data Fabric in a folder: its chain, the ledger in its attachments, and all of its data.

    Example: lakegate dataset verify sales/ --key key.pem

    Exit code: 0 everything is as stated, 1 something is not, 2 there is no dataset.
    """
    from lakegate.features.odf.exchange.odf_import import verify_dataset  # noqa: PLC0415 - likewise

    return verify_dataset(folder, _proof(key, anchor, must_be, takes_unsigned=unsigned))


def _proof(key: Path | None, anchor: list[str] | None, must_be: list[str] | None, *, takes_unsigned: bool) -> Proof:
    from lakegate.cli.datasets.chain_proofs import anchors_in, signatures_by  # noqa: PLC0415 - likewise
    from lakegate.features.odf.exchange.odf_import import Proof  # noqa: PLC0415 - likewise

    return Proof(signatures_by(key), anchors_in(anchor or ()), frozenset(must_be or ()), takes_unsigned)


@app.command("watermark")
@gate_command
def watermark(
    dependencies: Dependencies,
    dataset: DatasetName,
    time: Annotated[str, Argument(help="A day (its beginning, UTC), or a time with its zone.")],
) -> CommandResult[DatasetWatermark]:
    """Set the watermark of a dataset with slices: no event before this time is expected any more. It never moves back.

    The ledger records who set it. Rows of earlier events that are delivered later are late (`lateEvents` in the contract).

    Example: lakegate dataset watermark visits_v1 2026-11-02
    """
    at, name = time_of(time), dataset_named(dependencies, _name_of(dependencies, dataset))
    before = dependencies.run(set_watermark(dependencies, name, at))
    words = f"{name}: the watermark is {moment(at)} (before: {before or 'none'})."
    return CommandResult(DatasetWatermark(name, moment(at), before or None), [words])


@app.command("rebuild-state")
@stack_command
def rebuild_state(
    there: DeployedStack,
    dataset: DatasetName,
) -> CommandResult[RecomputedState]:
    """Compute what a dataset with a `mergeStrategy` knows of its keys again, from its slices.

    A state that is another one, or cannot be read, is replaced. The digest does not depend on its division into files.

    Example: lakegate dataset rebuild-state sales_v1
    """
    from lakegate.features.odf.recompute_slices import rebuilt  # noqa: PLC0415 - the engine is for this command alone

    found = rebuilt(there, dataset)
    is_same = "the state was another one, and is replaced" if found.replaced else "the state is the same"
    words = (f"{found.dataset}: {plural(found.keys, 'key')} in its slices: {is_same}.", f"Digest: {found.digest}")
    return CommandResult(RecomputedState(found.dataset, found.keys, found.digest, found.stored, found.replaced), words)


def _name_of(dependencies: Dependencies, name: str) -> str:
    """The dataset that has an identity of Open Data Fabric; other names as they are. InputError where none has it."""
    from lakegate.features.odf.exchange.odf_export import dataset_of  # noqa: PLC0415 - likewise

    if not name.startswith(DID):
        return name
    wanted = dataset_id(name)
    for chain in chains(dependencies):
        genesis = next(iter(dependencies.ledger.signed(chain)), None)
        if genesis is not None and dataset_of(genesis.text) == wanted:
            return chain
    raise InputError(f"no dataset of the stack has the identity {wanted}")


# ---- `lakegate dataset read` ----


def read_rows(given: Reading) -> CommandResult[DatasetRows]:
    """Read or write the rows of a dataset, or of a folder that `lakegate get` filled."""
    folder = Path(given.source)
    dataset = slices_in(folder) if folder.is_dir() else None
    known = Folder(folder).manifest() if dataset is None else None
    check_places(given, folder, is_folder=bool(known or dataset))
    with TemporaryDirectory(prefix="lakegate-read-") as name:
        if dataset is not None:
            manifest, found = dataset, files_of_import(given, dataset, folder)
        elif known is not None:
            manifest, found = known, files_of_dataset(given, current(given, known, None), Path(name), folder)
        else:
            with open_deployed(given.stack, local=given.local) as there:
                dependencies = there.dependencies()
                head = head_of(dependencies, _name_of(dependencies, given.source))
                manifest = whole(dependencies, head, given.wanted.since, given.wanted.as_at)
                found = files_of_dataset(given, current(given, manifest, dependencies), Path(name), dependencies)
        answer = rows_of_files(given, *found, Path(name))
    if text := ending_of(manifest, moment(datetime.now(UTC))):
        terminal.note(f"lakegate: warning: {text}")
    return CommandResult(_rows(given, answer), _rows_in_words(given, answer))


def _rows(given: Reading, answer: RowsRead) -> DatasetRows:
    as_at, as_of = (each.isoformat() if each else None for each in (given.wanted.as_at, given.wanted.as_of))
    return DatasetRows(
        answer.dataset,
        given.wanted.since,
        as_at,
        as_of,
        given.events,
        answer.height,
        answer.rows,
        SliceCounts(len(answer.selected.keys), answer.selected.skipped),
        answer.size,
        answer.selected.unsliced,
        str(answer.output) if answer.output else None,
        tuple(answer.columns),
        {"records": list(map(_plain, answer.first))} if given.output is None else {},
    )


def _plain(value: object) -> object:
    """A value in JSON: times in ISO 8601, decimals and other types as texts, bytes in Base64."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case date() | time():
            is_moment = isinstance(value, datetime) and value.tzinfo is not None
            return (value.astimezone(UTC) if is_moment else value).isoformat()  # type: ignore[union-attr]  # is_moment
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return str(value)


def _rows_in_words(given: Reading, answer: RowsRead) -> Iterator[Word]:
    if answer.first:
        rows = ((_cell(each) for each in row.values()) for row in answer.first)
        yield Grid(answer.columns, rows, unbroken=answer.columns)
    slices, shown = answer.selected, len(answer.first)
    where = f" in {answer.output}" if answer.output else f", the first {shown:,} shown" if shown < answer.rows else ""
    yield f"{answer.dataset}: {plural(answer.rows, 'row')}{where}"
    if given.output and not answer.rows:
        yield f"{given.output} was not written: there are no rows."
    yield f"Read {len(slices.keys):,} of {plural(len(slices.keys) + slices.skipped, 'slice')}, {plural(answer.size, 'byte')}."
    if slices.unsliced:
        yield f"Without {plural(slices.unsliced, 'delivery that was', 'deliveries that were')} published as arrived."
    yield f"What is published later: --changes-since {answer.height}"


def _cell(value: object) -> str:
    """A value for people, on one line."""
    plain = _plain(value)
    text = "" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return escaped(text if len(text) <= LONGEST_SHOWN_VALUE else f"{text[: LONGEST_SHOWN_VALUE - 1]}…")


# ---- `lakegate dataset slice` ----


CODES = {Verdict.REJECTED: CheckExit.REJECTED, Verdict.UNDECIDED: CheckExit.UNDECIDED}


@dataclass(frozen=True, slots=True)
class Slicing:
    """The arguments of the command."""

    contract: Path
    data: list[str]
    into: Path
    dataset: str | None
    offset: int
    event_time: str | None
    parents: list[Path] | None
    engine: EngineName


def write(given: Slicing) -> CommandResult[WrittenSlices]:
    """Judge the files, and write their slices."""
    places = ParentPlaces.of(given.parents, DEFAULT_STACK, local=False)
    document, plan, event_time = _checked(given, places)
    delivery = LocalDelivery(
        given.contract,
        given.dataset,
        files_of(given.data),
        [],
        [],
        None,
        show_values=False,
        engine=given.engine,
        parents=places,
        slices=SliceOrder(given.offset, event_time),
    )
    with interruptible_folder() as folder:
        report, advice = judge_delivery(delivery, document, plan, folder, terminal.bytes_arriving)
        slices = _moved(report.result.slices, given.into)
    verdict = report.judgement.verdict
    found = tuple(
        FileOfSlice(str(path), each.rows, each.offset, each.event_times, each.size, each.logical, each.physical)
        for path, each in slices
    )
    result = WrittenSlices(verdict, report.judgement.rows, found)
    return CommandResult(result, _slices_in_words(report, advice, found), CODES.get(verdict, CheckExit.ACCEPTED))


def _checked(given: Slicing, places: ParentPlaces) -> tuple[Contract, Plan, str | None]:
    """The contract, its plan, and the column with the times of events.

    Raises InputError if the dataset has columns that no slice has, or no such times.
    """
    document = load(given.contract, places)
    plan = plan_of(document, given.dataset)
    dataset = next(each for each in document.datasets if each.name == plan.dataset)
    for name, reason in misfits(dataset):
        raise InputError(f"{given.contract}: {name}: {reason}")
    if given.event_time is not None:
        wrong = event_time_misfit(plan.fields, given.event_time)
        if wrong is not None:
            raise InputError(f"--event-time {given.event_time}: {wrong}; name a column of {given.contract}")
    return document, plan, given.event_time or dataset.policy.event_time


def _moved(slices: tuple[WrittenSlice, ...], into: Path) -> list[tuple[Path, WrittenSlice]]:
    """The slices in their folder, by the offsets of their first rows."""
    found = [(into / f"{each.offset:020}.parquet", each) for each in slices]
    for path, _ in found:
        if path.exists():
            raise InputError(f"{path} exists: name another folder, or the --offset that follows the last slice")
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path, each in found:
            shutil.copyfile(path_of(each.uri), path)
    except OSError as error:
        raise InputError(f"--into {into} cannot be written: {error.strerror}") from error
    return found


def _slices_in_words(report: Report, advice: tuple[str, ...], slices: tuple[FileOfSlice, ...]) -> Iterator[Word]:
    yield lambda console: show(console, report, show_all=False, advice=advice)
    for each in slices:
        yield f"{each.file}: offsets {each.offset} to {each.offset + each.rows - 1}, {plural(each.size, 'byte')}"
        yield f"  event times  {' to '.join(each.event_times)}"
        yield f"  logical      {each.logical}"
        yield f"  physical     {each.physical}"

"""`lakegate get`: the accepted data of a dataset on local disk."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural, quote
from lakegate.base.timestamps import moment
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import BESIDE, CommandResult, gate_command
from lakegate.cli.options import TARGET_FOLDER, DatasetName, Local
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.datasets.accepted_deliveries import changed_since
from lakegate.gate.datasets.current_deliveries import ALL_CURRENT
from lakegate.gate.datasets.readers_manifest import not_current_in, published_since, whole
from lakegate.gate.datasets.slice_projection import NOTHING
from lakegate.gate.delivery.delivery_row import Waiver
from lakegate.gate.delivery.find_deliveries import find_delivery
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import LATEST, SHORT_ID
from lakegate.transfer.download_files import (
    Fetch,
    FileOfRows,
    Folder,
    ListedDelivery,
    RowsForm,
    bring,
    deliveries,
    ending_of,
    head_of,
)

DIFFERS = 1
HEIGHT: Final = re.compile(r"-1|[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file of the folder."""

    path: str
    size: int
    checksum: str | None
    fetched: bool
    """False: it was there."""


@dataclass(frozen=True, slots=True)
class FetchedDelivery:
    """A delivery whose files are in the folder."""

    height: int
    workload: str
    waiver: Waiver | None
    not_current: str | None
    """`recalled` or `superseded`; null: it is current."""
    files: tuple[FetchedFile, ...]


@dataclass(frozen=True, slots=True)
class RemovedDelivery:
    """A delivery whose files were taken out of the folder, because it is not current any more."""

    height: int
    workload: str
    not_current: str | None
    """`recalled` or `superseded`."""


@dataclass(frozen=True, slots=True)
class LostDelivery:
    """A delivery that was left out."""

    height: int
    workload: str
    reason: str


@dataclass(frozen=True, slots=True)
class FetchedDataset:
    """The part of a dataset that is in a folder now."""

    dataset: str = field(metadata=DATASET_KEY)
    folder: str
    since: int
    height: int
    complete: bool
    lost: tuple[LostDelivery, ...]
    removed: tuple[RemovedDelivery, ...]
    left_out: int
    """Deliveries that are not in the folder because they are not current."""
    deliveries: tuple[FetchedDelivery, ...]
    stale: dict[str, Any] = field(metadata=BESIDE)
    """`stale` of the manifest: rules that accepted data does not keep any more."""


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery that would be fetched."""

    height: int
    workload: str
    published_at: str
    verdict: str
    rows: int
    files: int
    size: int
    """Bytes of all files."""
    supersedes: tuple[int, ...]
    """The heights of the deliveries in whose place it comes."""


@dataclass(frozen=True, slots=True)
class NewDeliveries:
    """What `get` would do (`--dry-run`)."""

    dataset: str = field(metadata=DATASET_KEY)
    folder: str | None
    since: int
    height: int
    removed: tuple[RemovedDelivery, ...]
    """Deliveries of the folder, or up to the height, that are not current any more."""
    left_out: int
    """Deliveries that are not current."""
    deliveries: tuple[NewDelivery, ...]
    """The newest last; without those that the folder has, with those up to the height that are current again."""


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """The current rows of a dataset that are in a folder now (`--as`)."""

    dataset: str = field(metadata=DATASET_KEY)
    folder: str
    form: RowsForm
    height: int
    """Of the manifest that says which rows are current."""
    complete: bool
    lost: tuple[LostDelivery, ...]
    removed: tuple[str, ...]
    """Files of deliveries that are not current any more."""
    files: tuple[FileOfRows, ...]


@dataclass(frozen=True, slots=True)
class FetchedQuarantine:
    """What a delivery has in quarantine, in a folder now."""

    workload: str
    key: str
    """Where it landed."""
    folder: str
    files: tuple[FetchedFile, ...]


@gate_command
def get(  # noqa: PLR0913 - a command has these options
    dependencies: Dependencies,
    dataset: DatasetName,
    folder: Annotated[Path | None, Argument(help=f"{TARGET_FOLDER} With --dry-run it may be left out.")] = None,
    *,
    since: Annotated[
        str,
        Option(help="Only deliveries above this height, or accepted since this time (UTC), such as 2026-11-26."),
    ] = str(NOTHING),
    skip_lost: Annotated[
        bool, Option(help="Leave out deliveries with an object that was deleted, and name them.")
    ] = False,
    quarantined: Annotated[
        bool, Option("--quarantined", help="Of a delivery, in place of DATASET, what is in quarantine.")
    ] = False,
    every: Annotated[
        bool, Option("--all", help="Also deliveries that were recalled or superseded, which are left out else.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Fetch nothing: list the deliveries that would be fetched, with their rows.")
    ] = False,
    form: Annotated[
        RowsForm | None,
        Option(
            "--as",
            help="The current rows, typed by the contract, whatever arrived: files of Parquet, or one of DuckDB.",
        ),
    ] = None,
    local: Local = False,
) -> CommandResult[FetchedDataset | FetchedQuarantine | FetchedRows | NewDeliveries]:
    """Download the accepted data of a dataset by its manifest. What is there already is verified and not fetched again.

    Example: lakegate get orders_v1 data/ --since 4

    Example: lakegate get orders_v1 --dry-run --since 2026-11-26

    Example: lakegate get orders_v1 rows/ --as parquet

    Example: lakegate get --quarantined orders/day.csv bad/

    With --quarantined a delivery is named, by its landing key or its workload's id: what was rejected of it is fetched, the
    whole of it, or rows that were rejected alone, each behind its reasons.

    The folder has the current state of the dataset: files of an earlier run whose delivery was recalled or superseded since are
    removed, and what is current again is fetched, whatever --since says.

    With --as the folder has the rows of the current state in place of the files that arrived, with the columns and types of the
    contract: a file of Parquet for each delivery, or a database of DuckDB with one table. What is there already stays.

    A dataset that is deprecated, in sunset or retired is named with its replacement.

    Exit code: 0 everything is there, 1 an object is not what the manifest lists, 2 it cannot be fetched.
    """
    if folder is None and (quarantined or not dry_run):
        raise InputError(f"give the folder that the data goes to: lakegate get {shlex.quote(dataset)} data/")
    if form is not None and (quarantined or every or dry_run or since != str(NOTHING)):
        raise InputError("--as is for all current rows, with --skip-lost alone: repeated, it fetches what is new")
    if quarantined:
        return _quarantined(dependencies, dataset, None if dry_run else folder)
    head = head_of(dependencies, dataset)
    if text := ending_of(head, moment(datetime.now(UTC))):
        terminal.note(f"lakegate: warning: {text}")
    if form is not None and folder is not None:
        return _rows(dependencies, head, form, folder, " --local" if local else "", skip_lost=skip_lost)
    nothing = {"line": head["line"], "deliveries": []}
    known = Folder(folder).known(head["line"]) if folder is not None else nothing
    manifest, height = _above(dependencies, head, since)
    state, before = (ALL_CURRENT if every else not_current_in(each) for each in (head, known))
    left, returned = frozenset[int](), before.returned(state, height)
    if folder is None and not every:  # what was read before is not here, but at the height that it was read at
        left, returned = changed_since(dependencies, head["line"], state, height)
    if changed := left | returned:
        manifest = whole(dependencies, head, min(changed) - 1)
    listed = [each for each in deliveries(manifest, NOTHING) if each.height > height or each.height in returned]
    wanted = tuple(each for each in listed if each.height not in state)
    there = [each for each in deliveries(known, NOTHING) if each.height in state]
    there += [each for each in deliveries(manifest, NOTHING) if each.height in left]
    stack, left_out = " --local" if local else "", len(listed) - len(wanted)
    if dry_run or folder is None:
        has = {each["height"] for each in known["deliveries"]}
        new = tuple(_new(each) for each in wanted if each.height not in has)
        place = str(folder) if folder is not None else None
        removed = _removed(head, there)
        would = NewDeliveries(head["line"], place, height, max(int(head["height"]), height), removed, left_out, new)
        return CommandResult(would, _new_in_words(would, stack))
    fetch = Fetch(manifest, height, folder, wanted, removed=tuple(there))
    size = sum(file.size for each in fetch.wanted for file in each.files)
    with terminal.bytes_arriving(head["line"], size) as arrived:
        bring(dependencies, fetch, known, arrived, skip_lost=skip_lost)
    if fetch.problem:
        terminal.note(f"lakegate: {fetch.problem}")
    found = _fetched(fetch, left_out)
    # a part of a name is what one dataset has today, and may be another one's tomorrow
    first = [f"line  {found.dataset}"] if dataset != found.dataset else []
    words = chain(first, _in_words(found, stack, has_problem=bool(fetch.problem)))
    return CommandResult(found, words, DIFFERS if fetch.problem else 0)


def _rows(  # noqa: PLR0913 - what the options say
    dependencies: Dependencies, head: dict[str, Any], form: RowsForm, folder: Path, stack: str, *, skip_lost: bool
) -> CommandResult[FetchedRows]:
    """Write the current rows of a dataset, typed by its contract."""
    from lakegate.library.dataset_rows import RowsOfDataset  # noqa: PLC0415 - the engine
    from lakegate.transfer.download_rows import bring_rows  # noqa: PLC0415 - likewise

    done = bring_rows(RowsOfDataset(dependencies, head, NOTHING), form, folder, skip_lost=skip_lost)
    if done.problem:
        terminal.note(f"lakegate: {done.problem}")
    lost = tuple(LostDelivery(each.height, each.listed["workload"], why) for each, why in done.lost)
    dataset, height, complete = head["line"], int(head["height"]), not done.problem and not lost
    found = FetchedRows(dataset, str(folder), form, height, complete, lost, tuple(done.removed), tuple(done.files))
    return CommandResult(found, _rows_in_words(found, stack), DIFFERS if done.problem else 0)


def _rows_in_words(found: FetchedRows, stack: str) -> Iterator[str]:
    yield f"line  {found.dataset}"
    for each in found.files:
        yield f"{'written' if each.written else 'present'}  {each.path}  {plural(each.rows, 'row')}"
    yield from (f"lost  height {each.height}: {each.reason}" for each in found.lost)
    yield from (f"removed  {each}: it is not current any more" for each in found.removed)
    if not found.files and found.complete:
        yield f"Nothing of {found.dataset} was accepted."
    words = shlex.join(("lakegate", "get", found.dataset, found.folder, "--as", found.form))
    yield f"What is accepted later: {words}{stack}"


def _quarantined(dependencies: Dependencies, name: str, folder: Path | None) -> CommandResult[FetchedQuarantine]:
    """Fetch what a delivery has in quarantine."""
    if folder is None:
        raise InputError("--dry-run is of a dataset: `lakegate status DELIVERY` says what is in quarantine")
    from lakegate.local_check.quarantined_data import (  # noqa: PLC0415 - the engine
        fetch_quarantined,
        quarantined_files,
    )

    delivery = find_delivery(dependencies, name, LATEST)
    block, files = quarantined_files(dependencies, delivery)
    with terminal.bytes_arriving(delivery.key, sum(each.size for each in files)) as arrived:
        which = fetch_quarantined(dependencies, block, files, folder, arrived)
    fetched = tuple(
        FetchedFile(file.place, file.size, file.checksum or None, was_fetched)
        for file, was_fetched in zip(files, which, strict=True)
    )
    return CommandResult(
        FetchedQuarantine(delivery.id, delivery.key, str(folder), fetched), map(_file_in_words, fetched)
    )


def _file_in_words(file: FetchedFile) -> str:
    verified = (file.checksum or "").partition(":")[0] or "size only"
    return f"{'fetched' if file.fetched else 'present'}  {file.path}  {plural(file.size, 'byte')}, {verified}"


def _above(dependencies: Dependencies, head: dict[str, Any], since: str) -> tuple[dict[str, Any], int]:
    """The manifest above a height, or of what was accepted since a time, and the height."""
    if HEIGHT.fullmatch(since):
        return whole(dependencies, head, int(since)), int(since)
    return published_since(dependencies, head, _time(since))


def _time(since: str) -> datetime:
    """A time, of UTC where it has no zone. Raises InputError for a text that is none."""
    try:
        time = datetime.fromisoformat(since)
    except ValueError:
        raise InputError(f"--since {quote(since)} is neither a height nor a time such as 2026-11-26T08:00") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _new(delivery: ListedDelivery) -> NewDelivery:
    sizes = [each.size for each in delivery.files]
    return select_fields(
        NewDelivery,
        None,
        **{name: delivery.listed[name] for name in ("height", "workload", "published_at", "verdict")},
        rows=delivery.listed["published_rows"],
        files=len(sizes),
        size=sum(sizes),
        supersedes=tuple(delivery.listed.get("supersedes", ())),
    )


def _removed(manifest: Mapping[str, Any], deliveries: Iterable[ListedDelivery]) -> tuple[RemovedDelivery, ...]:
    state = not_current_in(manifest)
    return tuple(RemovedDelivery(each.height, each.listed["workload"], state.why(each.height)) for each in deliveries)


def _new_in_words(new: NewDeliveries, stack: str) -> Iterator[Word]:
    if new.deliveries:
        numbers = ("height", "rows", "files", "bytes")
        columns = ("height", "accepted at (UTC)", "verdict", *numbers[1:], "workload")
        rows = [
            (
                f"{each.height}",
                each.published_at[:19],
                each.verdict,
                f"{each.rows:,}",
                f"{each.files:,}",
                f"{each.size:,}",
                each.workload[:SHORT_ID],
            )
            for each in new.deliveries
        ]
        yield Grid(columns, rows, numbers, columns)
    else:
        yield f"Nothing of {new.dataset} is new above height {new.since}."
    for each in new.deliveries:
        if each.height <= new.since:
            yield f"current again  height {each.height}"
        if each.supersedes:
            yield f"height {each.height} takes the place of {', '.join(map(str, each.supersedes))}"
    what = "to be removed" if new.folder else "to be taken out"
    for gone in new.removed:
        yield f"{what}  height {gone.height}: it was {gone.not_current}, and is not current any more"
    if new.left_out:
        left = plural(new.left_out, "delivery that is", "deliveries that are")
        yield f"left out  {left} recalled or superseded: --all has everything"
    words = ["lakegate", "get", new.dataset, new.folder or "data", "--since", str(new.since)]
    if new.deliveries or new.removed:
        yield f"Next: {shlex.join(words)}{stack}"


def _fetched(fetch: Fetch, left_out: int) -> FetchedDataset:
    state = not_current_in(fetch.manifest)
    return FetchedDataset(
        fetch.manifest["line"],
        str(fetch.folder),
        fetch.since,
        fetch.height,
        not fetch.problem and not fetch.lost,
        tuple(LostDelivery(each.height, each.listed["workload"], why) for each, why in fetch.lost),
        _removed(fetch.manifest, fetch.removed),
        left_out,
        tuple(
            FetchedDelivery(
                each.height,
                each.listed["workload"],
                Waiver(**each.listed["waiver"]) if "waiver" in each.listed else None,
                state.why(each.height),
                tuple(
                    FetchedFile(file.place, file.size, file.checksum or None, was_fetched)
                    for file, was_fetched in zip(each.files, which, strict=True)
                ),
            )
            for each, which in fetch.done
        ),
        {"stale": fetch.manifest["stale"]} if "stale" in fetch.manifest else {},
    )


def _in_words(found: FetchedDataset, stack: str, *, has_problem: bool) -> Iterator[str]:
    for delivery in found.deliveries:
        yield from map(_file_in_words, delivery.files)
        if delivery.waiver is not None:
            yield f"waived  height {delivery.height}: {_waived(delivery.waiver)}"
        if delivery.not_current is not None:
            yield f"not current  height {delivery.height}: it was {delivery.not_current}"
    yield from (f"lost  height {each.height}: {each.reason}" for each in found.lost)
    for each in found.removed:
        yield f"removed  height {each.height}: it was {each.not_current}, and is not current any more"
    if found.left_out:
        left = plural(found.left_out, "delivery that is", "deliveries that are")
        yield f"left out  {left} recalled or superseded: --all has everything"
    if not found.deliveries and not found.lost and not found.left_out and not has_problem:
        yield f"Nothing of {found.dataset} was accepted above height {found.since}."
    for rule in found.stale.get("stale", {}).get("rules", ()):
        yield f"stale    {rule['rule']} does not hold for all accepted data since {rule['since'][:19]} UTC"
    words = shlex.join(("lakegate", "get", found.dataset, found.folder, "--since", str(found.height)))
    yield f"What is accepted later: {words}{stack}"


def _waived(waiver: Waiver) -> str:
    end = "expired" if waiver.has_expired(datetime.now(UTC).isoformat()) else "until"
    return f"{waiver.reason} ({end} {waiver.expires[:10]}, by {waiver.actor})"

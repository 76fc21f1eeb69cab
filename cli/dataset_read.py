"""`lakegate dataset read`: the rows of a line that publishes slices, as at a time, as of a time, or what is new."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.download import MANIFEST, Folder, ListedDelivery, deliveries, fetched
from lakegate.cli.escape import escaped
from lakegate.cli.get import head_of
from lakegate.cli.odf_places import FolderPlace
from lakegate.cli.odf_reading import dataset_in
from lakegate.cli.outputs import usable
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.projection import NOTHING, Projection, Selected, select
from lakegate.contracts.words import counted
from lakegate.engine.slices.reading import FORMS, SliceTable
from lakegate.functions.usecases.readers import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.cli.download import File
    from lakegate.functions.usecases.dependencies import Dependencies

VIEW: Final = ".duckdb"
LONGEST: Final = 40
"""Characters of a value that are shown to people."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the command is given."""

    source: str
    wanted: Projection
    events: bool
    """All events, also retracted and corrected rows; always so for changes."""
    output: Path | None
    limit: int
    stack: str
    local: bool


@dataclass(frozen=True, slots=True)
class RowsRead:
    """What a projection contains."""

    line: str
    selected: Selected
    height: int
    """What to give as --changes-since next time."""
    size: int
    """Bytes of the slices that were read."""
    rows: int = 0
    columns: tuple[str, ...] = ()
    first: tuple[dict[str, Any], ...] = ()
    output: Path | None = None


def read(given: Reading, *, as_json: bool) -> None:
    """Print or write the rows of a line, or of a folder that `lakegate get` filled."""
    folder = Path(given.source)
    known = Folder(folder).manifest()
    dataset = dataset_in(folder) if known is None and folder.is_dir() else None
    _check(given, folder, is_folder=bool(known or dataset))
    with TemporaryDirectory(prefix="lakegate-read-") as name:
        if dataset is not None:
            found = _imported(given, dataset, folder)
        elif known is not None:
            found = _files(given, known, Path(name), folder)
        else:
            with opened(given.stack, local=given.local) as there:
                dependencies = there.dependencies()
                manifest = whole(
                    dependencies, head_of(dependencies, given.source), given.wanted.since, given.wanted.as_at
                )
                found = _files(given, manifest, Path(name), dependencies)
        answer = _rows(given, *found, Path(name))
    if as_json:
        terminal.print_json(_as_document(given, answer))
    else:
        _print(given, answer)


def _check(given: Reading, folder: Path, *, is_folder: bool) -> None:
    """InputError for a folder of something else, and for an output that cannot be written, before anything is read."""
    if folder.is_dir() and not is_folder:
        text = f"`lakegate get LINE {folder}` or `lakegate dataset import SOURCE {folder}` fills one"
        raise InputError(f"{folder} is a folder without {MANIFEST} or refs/head: {text}")
    if given.output is None:
        return
    usable("--output", given.output, (*FORMS, VIEW), ())
    if given.output.exists():
        raise InputError(f"--output {given.output} exists: name another file")
    if given.output.suffix == VIEW and not is_folder:
        text = f"`lakegate get {given.source} DIR`, then `lakegate dataset read DIR --output {given.output}`"
        raise InputError(f"--output {given.output}: a view reads files that stay on this machine: {text}")


def _files(
    given: Reading, manifest: dict[str, Any], temporary: Path, source: Path | Dependencies
) -> tuple[RowsRead, list[Path]]:
    """The files to read, in the order of their offsets: those of a folder, or of the lake, which are fetched."""
    line, selected = manifest["line"], select(manifest["deliveries"], given.wanted)
    if selected.unsliced and not selected.keys:
        text = f"`lakegate get {line} DIR` downloads them (slices: `publishAs: parquet` in the contract)"
        raise InputError(f"{line} publishes files as they arrived: {text}")
    keys = frozenset(selected.keys)
    needed = [
        ListedDelivery(each.listed, tuple(one for one in each.files if one.key in keys))
        for each in deliveries({**manifest, "deliveries": selected.deliveries}, NOTHING)
    ]
    files = {one.key: one for each in needed for one in each.files}
    size = sum(each.size for each in files.values())
    folder = source if isinstance(source, Path) else temporary / "slices"
    if isinstance(source, Path):
        _check_files(folder, line, files.values())
    else:
        with terminal.bytes_arriving(line, size) as arrived:
            for each in needed:
                fetched(source, folder, each, arrived)
    reached = selected.height if given.wanted.as_at else manifest["height"]
    answer = RowsRead(line, selected, max(reached, given.wanted.since), size)
    return answer, [folder / files[key].place for key in selected.keys]


def _imported(given: Reading, dataset: dict[str, Any], folder: Path) -> tuple[RowsRead, list[Path]]:
    """The files to read of a dataset of ODF, in the order of their offsets."""
    selected = select(dataset["deliveries"], given.wanted)
    sizes = {each["key"]: each["size"] for one in dataset["deliveries"] for each in one["objects"]}
    for key in selected.keys:
        if FolderPlace(folder).size(key) != sizes[key]:
            text = f"run `lakegate dataset import SOURCE {folder}` again, into an empty folder"
            raise InputError(f"{folder / key} is missing, or has another size than its block states: {text}")
    reached = selected.height if given.wanted.as_at else dataset["height"]
    size = sum(sizes[key] for key in selected.keys)
    answer = RowsRead(dataset["line"], selected, max(reached, given.wanted.since), size)
    return answer, [folder / key for key in selected.keys]


def _check_files(folder: Path, line: str, files: Iterable[File]) -> None:
    """InputError where a file is missing or has another size; `lakegate verify --data` compares hashes."""
    for each in files:
        place = folder / each.place
        if not place.is_file() or place.stat().st_size != each.size:
            text = f"run `lakegate get {line} {folder}` again"
            raise InputError(f"{place} is missing, or is not as the manifest lists it: {text}")


def _rows(given: Reading, answer: RowsRead, paths: list[Path], temporary: Path) -> RowsRead:
    """The answer with its rows, which are written where a file is named for them."""
    if not paths:
        return answer
    table = SliceTable(paths, given.wanted.as_of, given.events)
    first = table.first(0 if given.output else given.limit, temporary)
    names, records = tuple(first.column_names), tuple(first.to_pylist())
    found = replace(answer, rows=table.count(temporary), columns=names, first=records)
    if given.output is None or not found.rows:
        return found
    part = given.output.with_name(f".{given.output.stem}.part{given.output.suffix}")
    part.unlink(missing_ok=True)
    try:
        if given.output.suffix == VIEW:
            table.write_view(part, answer.line.rpartition("/")[2])
        else:
            table.write(part, temporary)
        part.rename(given.output)
    finally:
        part.unlink(missing_ok=True)
    return replace(found, output=given.output)


def _as_document(given: Reading, answer: RowsRead) -> dict[str, object]:
    times = (each and each.isoformat() for each in (given.wanted.as_at, given.wanted.as_of))
    return {
        "line": answer.line,
        "changesSince": given.wanted.since,
        **dict(zip(("asAt", "asOf"), times, strict=True)),
        "events": given.events,
        "height": answer.height,
        "rows": answer.rows,
        "slices": {"read": len(answer.selected.keys), "skipped": answer.selected.skipped},
        "bytes": answer.size,
        "unsliced": answer.selected.unsliced,
        "output": answer.output and str(answer.output),
        "columns": list(answer.columns),
        **({"records": list(map(_plain, answer.first))} if given.output is None else {}),
    }


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


def _print(given: Reading, answer: RowsRead) -> None:
    if answer.first:
        grid = Table(box=None, header_style="bold", pad_edge=False)
        for name in answer.columns:
            grid.add_column(Text(escaped(name)), no_wrap=True)
        for row in answer.first:
            grid.add_row(*(Text(_cell(each)) for each in row.values()))
        terminal.wide().print(grid)
    console = terminal.answers()
    for text in _sentences(given, answer):
        console.print(escaped(text), markup=False, soft_wrap=True)


def _sentences(given: Reading, answer: RowsRead) -> Iterator[str]:
    slices, shown = answer.selected, len(answer.first)
    where = f" in {answer.output}" if answer.output else f", the first {shown:,} shown" if shown < answer.rows else ""
    yield f"{answer.line}: {counted(answer.rows, 'row')}{where}"
    if given.output and not answer.rows:
        yield f"{given.output} was not written: there are no rows."
    yield f"Read {len(slices.keys):,} of {counted(len(slices.keys) + slices.skipped, 'slice')}, {counted(answer.size, 'byte')}."
    if slices.unsliced:
        yield f"Without {counted(slices.unsliced, 'delivery that was', 'deliveries that were')} published as arrived."
    yield f"What is published later: --changes-since {answer.height}"


def _cell(value: object) -> str:
    """A value for people, on one line."""
    plain = _plain(value)
    text = "" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return escaped(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")

"""Accepted data on local disk, as manifest and ledger state it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import InputError, NotFound
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import decode_document
from lakegate.gate.datasets.compare_manifest import DIALECT, copy_faults, unknown_members
from lakegate.gate.datasets.current_deliveries import not_current
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.datasets.manifest_documents import Manifest, ManifestHead
from lakegate.gate.datasets.readers_manifest import dialect_of, read_manifest
from lakegate.gate.datasets.slice_projection import NOTHING
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.lake_layout import is_published, manifest_key
from lakegate.gate.ledger.blocks import AnyBlock, BlockKind, LedgerSlice
from lakegate.gate.ledger.blocks import deliveries as listed_deliveries
from lakegate.gate.ledger.compare_objects import Compared, Damage, DamagedObject
from lakegate.gate.ledger.stored_objects import Erasures, erasures_of
from lakegate.transfer.s3_checksums import PIECE, checksum_of_file

if TYPE_CHECKING:
    SliceComparison = Callable[[Path, LedgerSlice], bool]
    """A row of the extension point `slice comparisons`: whether a file on this machine is the slice that a block describes."""

# ---- Accepted data on a disk ----
# 1. Where every object will lie is decided before anything is fetched: a key that is not of the dataset's own form is refused.
# 2. Each object is fetched by its version into a hidden `.part` beside its place, from where an earlier run stopped.
# 3. When size and checksum of all objects of a delivery are as listed, they are renamed into their places.
# 4. `_manifest.json` in the folder lists the deliveries that are there whole; it is written last, and also when a run is cut
#    off.


MANIFEST: Final = "_manifest.json"
PLACE: Final = re.compile(
    r"ingest_date=\d{4}-\d\d-\d\d/workload=[0-9a-f]{64}/[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII
)
"""Below the folder of its dataset; what is not of this form is not an object of ours and gets no place on a disk."""


class DiffersError(InputError):
    """An object differs from the manifest; nothing of it is kept in the folder."""


class LostError(DiffersError):
    """The version of an object that the manifest lists was deleted."""


@dataclass(frozen=True, slots=True)
class File:
    """One object and its place."""

    key: str
    version: str
    size: int
    checksum: str
    place: str
    """Below the folder."""


@dataclass(frozen=True, slots=True)
class ListedDelivery:
    """One accepted delivery, as the manifest lists it."""

    listed: dict[str, Any]
    files: tuple[File, ...]

    @property
    def height(self) -> int:
        """Of its block."""
        height: int = self.listed["height"]
        return height


def deliveries(manifest: dict[str, Any], since: int) -> tuple[ListedDelivery, ...]:
    """Deliveries above a height, each object with its place. Raises InputError for a key of another form."""
    prefix = f"accepted/{manifest['line']}/"
    above = (each for each in manifest["deliveries"] if each["height"] > since)
    return tuple(ListedDelivery(each, tuple(file_of(prefix, one) for one in each["objects"])) for each in above)


def file_of(prefix: str, listed: Mapping[str, Any]) -> File:
    """An object of the dataset with this prefix, and its place. Raises InputError for a key of another form."""
    place = listed["key"].removeprefix(prefix)
    if place == listed["key"] or not PLACE.fullmatch(place):
        raise InputError(f"what is listed is no object of this dataset: {listed['key'][:200]!r}")
    return File(listed["key"], listed["version"], listed["size"], listed["checksum"], place)


@dataclass(frozen=True, slots=True)
class Folder:
    """The local copy of one dataset."""

    path: Path

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of an earlier run; None where there is none. Raises InputError where it cannot be read."""
        try:
            manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_bytes())
            decode_document(Manifest, "manifest", manifest, strict=False)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, InputError):
            raise InputError(f"{self.path / MANIFEST} cannot be read: give another folder") from None
        return manifest

    def known(self, dataset: str) -> dict[str, Any]:
        """The manifest of a dataset in this folder. Raises InputError where the folder holds something else."""
        manifest = self.manifest() or {"line": dataset, "height": -1, "deliveries": []}
        if manifest["line"] != dataset:
            raise InputError(f"{self.path} holds data of {manifest['line']}: give another folder")
        return manifest

    def write(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest of the folder at once."""
        part = self.path / f".{MANIFEST}.part"
        with _writing(self.path):
            part.unlink(missing_ok=True)  # of an earlier start, or a link that leads elsewhere
            with part.open("x") as file:
                file.write(json.dumps(manifest, sort_keys=True))
            part.replace(self.path / MANIFEST)


def fetched(
    dependencies: Dependencies, folder: Path, delivery: ListedDelivery, arrived: Callable[[int], object]
) -> tuple[bool, ...]:
    """Bring a delivery into the folder, whole; which of its files had to be fetched. Raises DiffersError, InputError."""
    with _writing(folder):
        missing = [file for file in delivery.files if not _is_there(folder, file)]
        parts = [(_part(dependencies, folder, each, arrived), folder / each.place) for each in missing]
        for part, place in parts:
            part.replace(place)
    return tuple(file in missing for file in delivery.files)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def _is_there(folder: Path, file: File) -> bool:
    place = folder / file.place
    return place.is_file() and not place.is_symlink() and is_as_listed(place, file)


def _part(dependencies: Dependencies, folder: Path, file: File, arrived: Callable[[int], object]) -> Path:
    """The whole object, verified, beside its place; from the beginning again where what was left of it is damaged."""
    place = folder / file.place
    part = place.with_name(f".{place.name}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
    if part.is_symlink() or (part.exists() and part.stat().st_size > file.size):
        part.unlink()
    while True:
        with part.open("ab") as target:
            start = target.tell()
            for piece in _rest(dependencies, file, start):
                target.write(piece)
                arrived(len(piece))
        if is_as_listed(part, file):
            return part
        part.unlink()
        if not start:
            text = "has another size or checksum than the manifest lists: nothing of it was kept"
            raise DiffersError(f"{file.key} {text}")


def _rest(dependencies: Dependencies, file: File, start: int) -> Iterator[bytes]:
    """The bytes of an object from `start`, piece by piece."""
    where = dependencies.in_lake(file.key, file.version)
    while start < file.size:
        try:
            with port_errors():
                piece = dependencies.objects.read(where, start, min(PIECE, file.size - start))
        except NotFound:
            raise LostError(f"version {file.version} of {file.key} is not there any more") from None
        if not piece:
            return
        yield piece
        start += len(piece)


def is_as_listed(path: Path, file: File) -> bool:
    """Whether a file has the size, and the checksum where one is known."""
    if path.stat().st_size != file.size:
        return False
    algorithm, _, value = file.checksum.partition(":")
    return not algorithm or checksum_of_file(path, algorithm) == value


# ---- Typed rows on a disk (`lakegate.transfer.download_rows`, which needs the engine) ----


class RowsForm(StrEnum):
    """The form of typed rows on a disk."""

    PARQUET = "parquet"
    """A file for each delivery; one for all deliveries where later ones take rows of earlier ones back."""
    DUCKDB = "duckdb"
    """One database with one table."""


@dataclass(frozen=True, slots=True)
class FileOfRows:
    """A file of a folder with typed rows."""

    path: str
    heights: tuple[int, ...]
    """Of the deliveries that it has rows of."""
    rows: int
    written: bool
    """False: it was there."""


# ---- Downloaded files compared with the chain ----


def compared_files(
    folder: Path, dataset: str, blocks: Sequence[AnyBlock], stack: Dependencies | None = None
) -> Compared:
    """Every published object of the chain by size and checksum, the folder's manifest, and whatever else lies in the folder.

    Of a slice also what its block states: offset, rows, event times and both hashes. `stack`: where plans are, by which a
    manifest says how files are to be read.

    InputError where the folder is none, or the chain names an object that has no place in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; `lakegate get {dataset} DIR` fills one")
    erasures, state, count = erasures_of(blocks), not_current(blocks), 0
    places: dict[str, AnyBlock] = {}
    damaged: list[DamagedObject] = []
    for block in listed_deliveries(blocks):
        slices = {each.key: each for each in block.slices or ()}
        for judged in block.objects if block.kind is BlockKind.PUBLISHED else ():
            if not is_published(block, judged.key):
                continue
            left = erasures.left.get(judged.key)
            wanted = left.current if left else judged
            file = file_of(f"accepted/{dataset}/", asdict(wanted or judged))
            places[file.place] = block
            if block.height in state and not (folder / file.place).exists():
                continue  # `lakegate get` leaves out what is not current, unless it is asked for all
            count += 1
            damage = _damage(folder, file, erasures, slices.get(judged.key), is_wanted=wanted is not None)
            if damage is not None:
                damaged.append(
                    DamagedObject(damage, file.key, file.version, "", block.height, block.workload, file.place)
                )
    there = {block.height for place, block in places.items() if (folder / place).exists()}
    faults, notes = _faults_of_manifest(folder, dataset, blocks, there, stack)
    damaged += [DamagedObject(Damage.UNTRUE, "", "", "", None, "", MANIFEST)] * bool(faults)
    named = {each.file for each in damaged}
    extra = (place for place in foreign_entries(folder, {*places, MANIFEST}) if place not in named)
    damaged += [DamagedObject(Damage.EXTRA, "", "", "", None, "", place) for place in extra]
    return Compared(count, 0, tuple(damaged), notes)


def _faults_of_manifest(
    folder: Path, dataset: str, blocks: Sequence[AnyBlock], there: Collection[int], stack: Dependencies | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the manifest says otherwise than the chain, and notes about that. `there`: heights of deliveries with a file."""
    try:
        manifest = Folder(folder).manifest()
    except InputError as error:
        return (str(error),), (str(error),)
    if manifest is None:
        return (), (f"{MANIFEST} is missing: other programs read the folder, `lakegate dataset read` does not.",)
    dialect = partial(dialect_of, stack) if stack is not None else None
    faults = tuple(copy_faults(manifest, dataset, blocks, lambda block: block.height in there, dialect))
    notes = [f"{MANIFEST} says otherwise than the chain: {', '.join(faults)}"] if faults else []
    if unknown := unknown_members(manifest, ManifestHead):
        notes.append(f"{MANIFEST} has members that this release does not know: {', '.join(unknown)}")
    beside = () if stack is not None else DIALECT
    notes.append(f"Not compared in {MANIFEST}: {', '.join(('segments/heights', *beside))}.")
    return faults, tuple(notes)


def foreign_entries(folder: Path, parts: Collection[str]) -> list[str]:
    """Whatever lies in a folder and is none of its parts, sorted: files, folders without a part, and links.

    A link is never a part, and not followed: what it leads to changes while the folder does not. InputError where a folder
    cannot be read.
    """
    within = {above.as_posix() for part in parts for above in PurePosixPath(part).parents}
    found: list[str] = []
    try:
        for root, folders, files in os.walk(folder, onerror=_raised):
            places = [(Path(root, name), (Path(root) / name).relative_to(folder).as_posix()) for name in folders]
            # an empty folder is named, unless a part of a dataset has its place in it
            found += [
                place
                for path, place in places
                if path.is_symlink() or (place not in within and not any(path.iterdir()))
            ]
            for name in files:
                path = Path(root, name)
                place = path.relative_to(folder).as_posix()
                if path.is_symlink() or place not in parts:
                    found.append(place)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from None
    return sorted(found)


def _raised(error: OSError) -> None:
    raise error


def _damage(
    folder: Path, file: File, erasures: Erasures, stated: LedgerSlice | None, *, is_wanted: bool
) -> Damage | None:
    path = folder / file.place
    is_there = path.is_file() and not path.is_symlink()
    if not is_wanted:
        return Damage.RESTORED if is_there else None
    if is_there and is_as_listed(path, file) and (stated is None or _is_as_stated(path, stated)):
        return None
    if erasures.planned(file.key):
        return Damage.UNERASED
    return Damage.ALTERED if is_there else Damage.LOST


def _is_as_stated(path: Path, stated: LedgerSlice) -> bool:
    """Whether a file is the slice that a block describes, as far as features know it."""
    comparisons: Iterator[SliceComparison] = load_extensions("slice comparisons")
    return all(comparison(path, stated) for comparison in comparisons)


@dataclass(slots=True)
class Fetch:
    """Deliveries to fetch, and those fetched."""

    manifest: dict[str, Any]
    since: int
    folder: Path
    wanted: tuple[ListedDelivery, ...]
    done: list[tuple[ListedDelivery, tuple[bool, ...]]] = field(default_factory=list)
    """Each delivery that is there whole, and which of its files were fetched now."""
    removed: tuple[ListedDelivery, ...] = ()
    """Deliveries of the folder that are not current any more: their files are taken out of it once all others are there."""
    lost: list[tuple[ListedDelivery, str]] = field(default_factory=list)
    """Deliveries that were left out because an object of them is lost, and which."""
    problem: str = ""
    """The reason why the run stopped; empty where everything is there."""

    @property
    def height(self) -> int:
        """The value for --since next time: everything up to here is there."""
        if len(self.done) + len(self.lost) == len(self.wanted):
            return max(int(self.manifest["height"]), self.since)
        return self.done[-1][0].height if self.done else self.since


def head_of(dependencies: Dependencies, name: str) -> dict[str, Any]:
    """The head of the manifest of the dataset that a person means; a whole name is looked up in the lake bucket alone."""
    found = _read(dependencies, name) if "/" in name else None
    if found is None:
        dataset = dataset_named(dependencies, name, in_force=True)
        found = _read(dependencies, dataset) or _empty(dependencies, dataset)
    return found


def ending_of(manifest: Mapping[str, Any], now: str) -> str:
    """The end of the dataset of a manifest, for a reader; empty where it has none."""
    lifecycle: dict[str, Any] | None = manifest.get("lifecycle")
    if lifecycle is None:
        return ""
    passed = [each["status"] for each in lifecycle["planned"] if each["at"] <= now]
    status = passed[-1] if passed else lifecycle["status"]
    if status not in {DatasetStatus.DEPRECATED, DatasetStatus.SUNSET, DatasetStatus.RETIRED}:
        return ""
    ahead = "".join(f", {each['status']} from {each['at'][:10]}" for each in lifecycle["planned"] if each["at"] > now)
    use = f": use {lifecycle['replacement']}" if lifecycle["replacement"] else ""
    guide = f" ({lifecycle['guide']})" if lifecycle["guide"] else ""
    return f"{manifest['line']} is {'in sunset' if status == DatasetStatus.SUNSET else status}{ahead}{use}{guide}"


def _empty(dependencies: Dependencies, dataset: str) -> dict[str, Any]:
    """The head of a dataset without deliveries. Raises InputError where it has some: its head is lost."""
    if any(each.kind == BlockKind.PUBLISHED for each in dependencies.ledger.newest(dataset)):
        where = f"s3://{dependencies.places.lake}/{manifest_key(dataset)}"
        raise InputError(f"the manifest of {dataset} is lost ({where}): the next sweep writes it again from the ledger")
    return {"line": dataset, "height": NOTHING, "segments": {"count": 0, "heights": 1}, "deliveries": []}


def _read(dependencies: Dependencies, dataset: str) -> dict[str, Any] | None:
    try:
        return read_manifest(dependencies, manifest_key(dataset), dataset)
    except NotFound:
        return None


def bring(
    dependencies: Dependencies,
    fetch: Fetch,
    known: dict[str, Any],
    arrived: Callable[[int], object],
    *,
    skip_lost: bool,
) -> None:
    """Delivery by delivery. Whatever ends it early, the folder's manifest lists what is there."""
    folder = Folder(fetch.folder)
    try:
        for each in fetch.wanted:
            try:
                fetch.done.append((each, fetched(dependencies, fetch.folder, each, arrived)))
            except LostError as error:
                if not skip_lost:
                    hint = "--skip-lost leaves such deliveries out, `lakegate restore` puts the object back"
                    raise DiffersError(f"{error}: {hint}") from None
                fetch.lost.append((each, str(error)))
        _remove(fetch)
    except DiffersError as error:
        fetch.problem, fetch.removed = str(error), ()
    finally:
        # a folder with deliveries states which rules do not hold, and which deliveries are not current
        changed = any(known.get(name) != fetch.manifest.get(name) for name in ("stale", "not_current"))
        if fetch.done or (known["deliveries"] and changed):
            folder.write(_merged(known, fetch))


def _remove(fetch: Fetch) -> None:
    with _writing(fetch.folder):
        for file in (file for each in fetch.removed for file in each.files):
            place = fetch.folder / file.place
            place.unlink(missing_ok=True)
            if place.parent.is_dir() and not any(place.parent.iterdir()):
                place.parent.rmdir()


def _merged(known: dict[str, Any], fetch: Fetch) -> dict[str, Any]:
    """The manifest of the folder: what it listed before, and what is there since."""
    removed = {each.height for each in fetch.removed}
    there = {each["height"]: each for each in known["deliveries"] if each["height"] not in removed}
    done = there.keys() | {each.height for each, _ in fetch.done}
    listed = there | {each["height"]: each for each in fetch.manifest["deliveries"] if each["height"] in done}
    height = max(known["height"], fetch.height)
    merged = {**fetch.manifest, "height": height, "deliveries": [listed[each] for each in sorted(listed)]}
    if fetch.height < fetch.since:  # not all is there that is current again: the next run fetches it
        merged = {name: value for name, value in merged.items() if name != "not_current"}
        merged |= {name: value for name, value in known.items() if name == "not_current"}
    return merged

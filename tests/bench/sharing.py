"""What slices, chains and datasets of ODF cost, each beside a plain copy of the same bytes: `python -m tests.bench.sharing`.

The lake is one in memory (`tests/unit/features/odf/exchange/shared_dataset.py`), so times are those of the process.
A figure is that of the fastest run, in seconds of the processor, and ratios are of figures of one run.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import pyarrow.csv as pc
import pyarrow.parquet as pq

from lakegate.base.errors import NotFound
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf import dataset_command, read_slices
from lakegate.features.odf.exchange.odf_import import Proof, bring_dataset, verify_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace
from lakegate.features.odf.format.logical_hash import digest_of
from lakegate.gate.datasets.readers_manifest import read_manifest, update
from lakegate.gate.datasets.slice_projection import Projection
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, canonical, deliveries, digest, parse_block
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ledger.verification import verify_signed
from lakegate.gate.ports import Address
from lakegate.plan.slice_order import SliceOrder
from tests.deliveries.delivery import measure_natively, request_for
from tests.simulation.environment import Environment
from tests.unit.features.odf.exchange.shared_dataset import LINE, WIDER, Lake
from tests.unit.features.odf.format.digest.vectors import VECTORS
from tests.unit.gate.ledger.ledger_chain import a_block
from tests.unit.gate.ledger.signing import ONE, key_record, signature_by

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
MB = 1_000_000
T = TypeVar("T")


def best(what: Callable[[], object], runs: int) -> float:
    """Seconds of the processor, of all threads, of the fastest run: other work on the machine changes them little."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        what()
        found.append(time.process_time() - began)
    return min(found)


def quietly(what: Callable[..., T], *given: object, **named: object) -> T:
    """Without what it prints."""
    with redirect_stdout(io.StringIO()):
        return what(*given, **named)


class DailyLake(Lake):
    """A line that publishes a slice a day."""

    def append(self, block: AnyBlock) -> None:
        published = FIRST + timedelta(len(self.stored), hours=12)
        super().append(replace(block, system_time=f"{published:%Y-%m-%dT%H:%M:%S.%fZ}"))

    def fill(self, days: int, rows: int) -> None:
        """With so many rows a day."""
        for _ in range(days):
            self.publish(text_of(self.offset, rows, FIRST + timedelta(len(self.stored))), WIDER)


def text_of(first: int, rows: int, day: datetime) -> str:
    """Rows of a day, as CSV; notes repeat seldom."""
    written = (f"{first + at},{day:%Y-%m-%d}T00:00:00Z,note {(first + at) * 2654435761 % 2**32}" for at in range(rows))
    return "\n".join(["id,at,note", *written, ""])


@dataclass(slots=True)
class Counted:
    """The objects of a lake, and what was read of them."""

    lake: Lake
    asked: list[tuple[str, int]] = field(default_factory=list)

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """See `ObjectReader`."""
        found = self.lake.read(address, start, length)
        self.asked.append((address.key, len(found)))
        return found

    def head(self, address: Address) -> None:
        """No manifest was written before."""
        raise NotFound(address.key)

    def put(self, address: Address, body: bytes, **_: object) -> None:
        """See `ObjectStore`."""
        self.lake.objects[address.key] = body


def chain_of(count: int, *, is_signed: bool) -> list[SignedText]:
    """A chain of deliveries."""
    made, previous = [], GENESIS
    for height in range(count):
        block = key_record(0, previous, ONE) if is_signed and not height else a_block(height, previous)
        made.append(SignedText(canonical(block), signature_by(ONE, block) if is_signed else None))
        previous = digest(block)
    return made


def chains(blocks: int, runs: int) -> Iterator[str]:
    """`lakegate verify` without data."""
    for is_signed in (False, True):
        stored = chain_of(blocks, is_signed=is_signed)

        def verified(stored: list[SignedText] = stored) -> None:
            assert not verify_signed(stored, a_block().chain, signatures_by(None))

        seconds = best(verified, runs)
        yield f"| blocks verified, {'signed' if is_signed else 'unsigned'} | {blocks / seconds:,.0f} blocks/s | |"


def written(folder: Path, slices: int, rows: int, runs: int) -> Iterator[str]:
    """CSV that is judged and written as slices, or typed files, beside pyarrow, which reads and writes it as Parquet."""
    texts = [text_of(at * rows, rows, FIRST).encode() for at in range(slices)]
    size, number = sum(map(len, texts)), iter(range(10**6))

    def judged(*, as_slices: bool) -> None:
        for at, text in enumerate(texts):
            place = folder / str(next(number))
            place.mkdir()
            order = SliceOrder(at * rows, "at") if as_slices else None
            request = replace(request_for(WIDER, place, text), slices=order, typed_files=not as_slices)
            result = measure_natively(request, WIDER)
            assert sum(each.rows for each in (*result.slices, *result.typed_files)) == rows

    def plain() -> None:
        for text in texts:
            pq.write_table(pc.read_csv(io.BytesIO(text)), folder / f"{next(number)}.parquet", compression="zstd")

    theirs = best(plain, runs)
    for name in ("slices", "typed files"):
        ours = best(partial(judged, as_slices=name == "slices"), runs)
        speed = f"{slices / ours:.1f} {name}/s, {size / ours / MB:.0f} MB/s"
        yield f"| CSV judged and written as {name} | {speed} | {ours / theirs:.1f} (pyarrow writes it) |"


def copied(folder: Path, lake: Lake, runs: int) -> Iterator[str]:
    """Export, import and verification of a dataset, beside a copy of its slices."""
    found = lake.export(folder / "dataset")
    number, count, size = iter(range(10**6)), found.slices, found.size

    def copy() -> None:
        shutil.copytree(folder / "dataset/data", folder / f"copy {next(number)}")

    def bring() -> None:
        target = FolderPlace(folder / f"import {next(number)}")
        bring_dataset(FolderPlace(folder / "dataset"), target, Proof(signatures_by(None)))

    def verify() -> None:
        assert not verify_dataset(folder / "dataset", Proof(signatures_by(None))).exit_code

    plain = best(copy, runs)
    for name, what in (
        ("export", lambda: lake.export(folder / f"export {next(number)}")),
        ("import", bring),
        ("verify", verify),
    ):
        seconds = best(what, runs)
        yield (
            f"| dataset {name}, {size / count / MB:.2f} MB a slice | {count / seconds:.1f} slices/s, "
            f"{size / seconds / MB:.0f} MB/s | {seconds / plain:.1f} |"
        )


def hashed(folder: Path, runs: int) -> Iterator[str]:
    """The logical and the physical hash of a slice on one core, of the bytes of its rows in memory."""
    (path, *_) = sorted((folder / "dataset/data").iterdir(), key=lambda each: -each.stat().st_size)
    memory, seconds = pq.read_table(path).nbytes, best(lambda: digest_of(path), runs)
    plain = best(lambda: pq.read_table(path, use_threads=False), runs)
    speed = f"{memory / seconds / 1e9:.2f} GB/s of Arrow's memory"
    yield f"| both hashes of a slice | {speed} | {seconds / plain:.1f} (pyarrow reads it) |"
    yield f"| vectors of the logical hash | {len(json.loads(VECTORS.read_text()))} tables | |"


@contextmanager
def opened_as(dependencies: object) -> Iterator[None]:
    """The stack of `dataset read`."""

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[object]:
        yield SimpleNamespace(dependencies=lambda: dependencies)

    def head_of(there: Any, line: str) -> dict[str, Any]:
        return read_manifest(there, manifest_key(line), line)

    with patch.object(dataset_command, "open_deployed", opened), patch.object(dataset_command, "head_of", head_of):
        yield


def asked(folder: Path, lake: DailyLake, runs: int) -> Iterator[str]:
    """`dataset read` of a line in a lake, and of its dataset in a folder: all that was known, or true, at a day."""
    objects = Counted(lake)
    places = replace(Environment().dependencies.places, segment_heights=100)
    blocks = [parse_block(each.text) for each in lake.stored]
    ledger = SimpleNamespace(blocks=lambda _chain, above: tuple(blocks[above + 1 :]))
    there: Any = SimpleNamespace(
        ledger=ledger, objects=objects, places=places, plan_at=lambda plan, _: lake.plans[plan]
    )
    run(update(there, LINE), Environment().memory.clock)
    lake.export(folder / "daily")
    days = len(deliveries(filter(None, blocks)))
    seconds = best(lambda: verify_dataset(folder / "daily", Proof(signatures_by(None))), 1)
    yield f"| dataset verify, {days:,} slices of 100 rows | {days / seconds:.0f} slices/s, {2 * days / seconds:.0f} blocks/s | |"
    for name, wanted in (
        ("--as-at the first day", Projection(as_at=FIRST + timedelta(2))),
        ("--as-of the first day", Projection(as_of=FIRST + timedelta(1, hours=1))),
        ("--changes-since the last day", Projection(since=days - 1)),
    ):
        for where, source in (("lake", LINE), ("folder", str(folder / "daily"))):
            if where == "folder" and wanted.since >= 0:
                continue  # heights of a dataset are those of its blocks
            given = read_slices.Reading(
                source, wanted, events=False, every=False, output=None, limit=20, stack="", local=True
            )
            objects.asked.clear()
            with opened_as(there):
                answer = dataset_command.read_rows(given).document
            with opened_as(there), redirect_stdout(io.StringIO()):
                seconds = best(lambda given=given: dataset_command.read_rows(given).document, runs)
            yield row_of(
                f"{name}, {days:,} slices, {where}", answer, objects.asked[: len(objects.asked) // (runs + 1)], seconds
            )


def row_of(name: str, answer: dict[str, Any], read: Sequence[tuple[str, int]], seconds: float) -> str:
    """What was read besides the slices is the manifest."""
    listed = [size for key, size in read if not key.endswith(".parquet")]
    manifest = f"; manifest: {len(listed)} objects, {sum(listed):,} bytes" if read else ""
    found = f"{answer['slices']['read']} slices, {answer['bytes']:,} bytes{manifest}; {seconds:.2f} s"
    return f"| {name} | {found} | |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=20_000)
    parser.add_argument("--slices", type=int, default=10)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--days", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    print("| what | measured | times a plain copy |\n|---|---|---|")  # noqa: T201 - a program
    with TemporaryDirectory(prefix="lakegate-bench-") as name:
        folder = Path(name)
        large, daily = Lake(folder / "large"), DailyLake(folder / "small")
        large.name_key()
        daily.name_key()
        for at in range(given.slices):
            large.publish(text_of(at * given.rows, given.rows, FIRST), WIDER)
        daily.fill(given.days, 100)
        (folder / "written").mkdir()
        for rows in (
            chains(given.blocks, given.runs),
            written(folder / "written", given.slices, given.rows, given.runs),
            copied(folder, large, given.runs),
            hashed(folder, given.runs),
            asked(folder, daily, given.runs),
        ):
            for each in rows:
                print(each, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

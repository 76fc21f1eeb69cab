"""Datasets of ODF whose files were changed: nothing of them becomes visible."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from tests.unit.features.odf.exchange.shared_dataset import bring, files_of, one


def removed(kind: str) -> Callable[[Path], None]:
    return lambda folder: one(folder, kind).unlink()


def longer(kind: str) -> Callable[[Path], None]:
    return lambda folder: one(folder, kind).write_bytes(one(folder, kind).read_bytes() + b"\0")


def shorter(kind: str) -> Callable[[Path], None]:
    return lambda folder: one(folder, kind).write_bytes(one(folder, kind).read_bytes()[:-1])


def swapped(kind: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        left, right = one(folder, kind), one(folder, kind, -1)
        bodies = left.read_bytes(), right.read_bytes()
        left.write_bytes(bodies[1])
        right.write_bytes(bodies[0])

    return change


def headed(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "refs/head").write_text(text) and None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (removed("refs"), "the source has no dataset: refs/head is missing"),
        (removed("blocks"), "the block f1620[0-9a-f]{64} is missing"),
        (removed("data"), "data/f1620[0-9a-f]{64} is missing"),
        (longer("blocks"), "others than its name says"),
        (longer("data"), "is not as stated: it has more than"),
        (shorter("blocks"), "others than its name says"),
        (shorter("data"), "its bytes are others than its name says"),
        (swapped("blocks"), "others than its name says"),
        (swapped("data"), "is not as stated"),
        (headed(""), r"/refs/head names no block of a dataset: it is empty"),
        (headed("../../etc/passwd"), r"/refs/head names no block of a dataset: `../../etc/passwd`"),
        (headed("<!DOCTYPE html>"), "/refs/head names no block of a dataset: `<!DOCTYPE html>`"),
        (headed("f1620" + "0" * 64), "the block f1620000000+ is missing"),
        (headed("f9680c00120" + "0" * 64), "names no block"),
        (headed("f" * 2000), "more than 1,024 bytes"),
    ],
)
def test_a_dataset_that_was_changed_is_refused(
    shared: Path, tmp_path: Path, change: Callable[[Path], None], reason: str
) -> None:
    """Whatever is missing, cut, longer or exchanged, nothing of it is visible."""
    change(shared)
    with pytest.raises(InputError, match=reason):
        bring(shared, tmp_path / "copy")
    assert not (tmp_path / "copy/refs").exists()


@pytest.mark.parametrize("places", [pytest.param(100, marks=pytest.mark.full), 4])
def test_every_flip_of_a_bit_is_found(shared: Path, tmp_path: Path, places: int) -> None:
    """In blocks, data and the head, at this many places of each. (The other case of a letter in the head is the same hash.)"""
    for place, body in files_of(shared).items():
        for at in range(len(place) % 3, len(body), max(1, len(body) // places)):
            changed = bytearray(body)
            changed[at] ^= 1 << at % (4 if place == "refs/head" else 8)
            (shared / place).write_bytes(changed)
            copy = tmp_path / f"{place.replace('/', '-')}-{at}"
            with pytest.raises(InputError):
                bring(shared, copy)
            assert not (copy / "refs").exists()
        (shared / place).write_bytes(body)


@pytest.mark.parametrize(("bound", "most"), [("MOST_BLOCKS", 10), ("MOST_BYTES", 5000)])
def test_a_chain_without_end_is_refused(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """A repository can send blocks for ever: their number and their bytes have a bound."""
    monkeypatch.setattr(f"lakegate.features.odf.exchange.odf_repositories.{bound}", most)
    with pytest.raises(InputError, match=r"the chain has more than|has the number 16: no more than 10 are read"):
        bring(shared, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == {}


@pytest.mark.parametrize("place", ["refs/head", "blocks", "data"])
def test_a_pipe_is_no_file(shared: Path, tmp_path: Path, place: str) -> None:
    """Nobody writes to it, and nobody waits for that."""
    path = shared / place if place == "refs/head" else one(shared, place)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="is no regular file"):
        bring(shared, tmp_path / "copy")


def test_damage_in_the_folder_itself_is_found(shared: Path, tmp_path: Path) -> None:
    """A block that was changed in the folder since is not built upon."""
    bring(shared, tmp_path / "copy")
    one(tmp_path / "copy", "blocks").write_bytes(b"")
    with pytest.raises(InputError, match="others than its name says"):
        bring(shared, tmp_path / "copy")


def test_damage_that_was_left_of_an_import_is_replaced(shared: Path, tmp_path: Path) -> None:
    """A block or a slice of an interrupted import that is not what its name says is fetched again."""
    for kind in ("blocks", "data"):
        found = one(shared, kind)
        (tmp_path / "copy" / kind).mkdir(parents=True)
        (tmp_path / "copy" / kind / found.name).write_bytes(bytes(found.stat().st_size))

    assert bring(shared, tmp_path / "copy").blocks == 17
    assert files_of(tmp_path / "copy") == files_of(shared)

"""`lakegate dataset verify` of a folder that was changed at random: bytes, files, and blocks that were written again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf.exchange.odf_import import Proof, verify_dataset
from tests.reference.sampling import sampled
from tests.unit.features.odf.exchange.shared_dataset import Lake, bring, files_of
from tests.unit.gate.ledger.signing import ONE

HIDDEN = 0x20
"""The bit of a letter's case: a hash in the head is the same in both."""


@pytest.fixture(scope="module")
def shared(made: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The line as a dataset in a folder, which each test leaves as it was."""
    folder = tmp_path_factory.mktemp("shared") / "dataset"
    made.export(folder)
    folder.with_name("key.pem").write_bytes(ONE.pem)
    return folder


def proof(shared: Path, made: Lake) -> Proof:
    """The key and the end of the line, known from elsewhere."""
    return Proof(signatures_by(shared.with_name("key.pem")), {len(made.stored) - 1: made.previous})


def is_found(shared: Path, made: Lake) -> bool:
    """Whether a folder is none of the dataset."""
    try:
        return bool(verify_dataset(shared, proof(shared, made)).exit_code)
    except InputError:  # there is no head, or it names no block
        return True


@contextmanager
def restored(shared: Path, files: dict[str, bytes]) -> Iterator[None]:
    """What is changed here is as it was afterwards."""
    try:
        yield
    finally:
        for name, body in files.items():
            (shared / name).write_bytes(body)


def test_the_dataset_is_as_stated(shared: Path, made: Lake) -> None:
    """Without a change nothing is found."""
    assert not is_found(shared, made)


@sampled(40, 1000)
@given(st.data())
def test_any_changed_byte_is_found(shared: Path, made: Lake, data: st.DataObject) -> None:
    """Whichever byte of whichever file, its pages, its footer and the length of it included, and whatever it becomes."""
    files = files_of(shared)
    name = data.draw(st.sampled_from(sorted(files)))
    body = files[name]
    at = data.draw(st.one_of(st.integers(0, len(body) - 1), st.integers(max(0, len(body) - 12), len(body) - 1)))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each not in {body[at], body[at] ^ HIDDEN}))
    with restored(shared, files):
        (shared / name).write_bytes(body[:at] + bytes([byte]) + body[at + 1 :])
        assert is_found(shared, made)


@sampled(30, 500)
@given(st.data())
def test_any_bytes_that_are_cut_or_added_are_found(shared: Path, made: Lake, data: st.DataObject) -> None:
    """At any place of any file, one or many."""
    files = files_of(shared)
    name = data.draw(st.sampled_from(sorted(files)))
    body = files[name]
    at, end = sorted(data.draw(st.tuples(*[st.integers(0, len(body))] * 2)))
    more = data.draw(st.binary(max_size=5))
    changed = body[:at] + more + body[end:]
    if changed.strip().lower() == body.strip().lower():
        return
    with restored(shared, files):
        (shared / name).write_bytes(changed)
        assert is_found(shared, made)


def test_any_missing_file_is_found(shared: Path, made: Lake) -> None:
    """Each of them."""
    files = files_of(shared)
    for name in files:
        with restored(shared, files):
            (shared / name).unlink()
            assert is_found(shared, made), name


def test_any_two_files_that_were_exchanged_are_found(shared: Path, made: Lake) -> None:
    """Blocks for blocks, slices for slices, and one for the other."""
    files = files_of(shared)
    names = sorted(files)
    for left, right in zip(names, names[1:] + names[:1], strict=True):
        with restored(shared, files):
            (shared / left).write_bytes(files[right])
            (shared / right).write_bytes(files[left])
            assert is_found(shared, made), (left, right)


def test_any_earlier_end_is_found_by_an_anchor(shared: Path, made: Lake) -> None:
    """A head that names any other block of the dataset."""
    files = files_of(shared)
    for each in sorted((shared / "blocks").iterdir()):
        with restored(shared, files):
            (shared / "refs/head").write_text(each.name)
            assert is_found(shared, made) == (each.name.encode() != files["refs/head"])


def compressed(path: Path) -> None:
    pq.write_table(pq.read_table(path), path, compression="snappy")


def other_metadata(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"note": "changed"}), path, compression="zstd")


def nothing_left(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 0), path)


@pytest.mark.parametrize("change", [compressed, other_metadata, nothing_left])
def test_a_slice_that_was_written_again_is_named(shared: Path, made: Lake, change: Callable[[Path], None]) -> None:
    """Also with the same rows, whose logical hash is the same: each file by its name, and no other one."""
    files = files_of(shared)
    for each in sorted((shared / "data").iterdir()):
        with restored(shared, files):
            change(each)
            found = verify_dataset(shared, proof(shared, made))
            assert found.exit_code
            (fault,) = found.document["faults"]
            assert f"data/{each.name} is not as stated: its bytes are others than its name says" in fault


def test_files_that_no_block_names_are_no_part_of_it(shared: Path, made: Lake, tmp_path: Path) -> None:
    """An interrupted export leaves some: they are named, and an import brings none of them."""
    shutil.copytree(shared, tmp_path / "dataset")
    names = sorted(f"{each}/f1620{'0' * 64}" for each in ("data", "blocks"))
    for each in names:
        (tmp_path / "dataset" / each).write_bytes(b"of nobody")
    found = verify_dataset(tmp_path / "dataset", proof(shared, made)).document

    assert found["faults"] == [
        f"{each} is no part of the dataset: delete it, or repeat an import that was interrupted" for each in names
    ]
    bring(tmp_path / "dataset", tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(shared)

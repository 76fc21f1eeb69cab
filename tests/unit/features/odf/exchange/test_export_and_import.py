"""`lakegate dataset export` and `import`: a line as a dataset of ODF, and back."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf.exchange.odf_export import export_dataset
from lakegate.features.odf.exchange.odf_import import Proof, bring_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace, OdfHead, WebSource, place_of, source_of
from lakegate.features.odf.format.metadata_chain import OtherEvent, block_in, moment_of
from lakegate.gate.ledger.blocks import Record, event_id
from tests.fakes.signing import MemoryKey
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.odf.exchange.shared_dataset import LINE, WIDER, Lake, bring, files_of, shorter_line, size_of
from tests.unit.gate.ledger.ledger_chain import RECORD
from tests.unit.gate.ledger.signing import FORGER, ONE


def events(folder: Path) -> list[str]:
    """The kinds of events of a dataset, the first one first."""
    found = [block_in(each.read_bytes()) for each in (folder / "blocks").iterdir()]
    in_order = [each.event for each in sorted(found, key=lambda each: each.sequence)]
    return [each.kind if isinstance(each, OtherEvent) else type(each).__name__ for each in in_order]


EVENTS = [
    "Seed",
    "SetVocab",
    "SetAttachments",
    "SetAttachments",
    "SetDataSchema",
    "SetInfo",
    "SetLicense",
    "AddPushSource",
    "AddData",
    "SetAttachments",
    "SetAttachments",
    "AddData",
]
LATER = ["SetAttachments", "SetDataSchema", "SetLicense", "AddPushSource", "AddData"]


def test_a_line_is_a_dataset(made: Lake, tmp_path: Path) -> None:
    """Its blocks and its slices, byte for byte, under their hashes; the head names the last block."""
    found = made.export(tmp_path / "shared")
    files = files_of(tmp_path / "shared")
    added = [each.added for each in found.blocks if each.added]
    data = {f"data/{each.data.physical}": made.objects[each.file.key] for each in added}

    assert events(tmp_path / "shared") == EVENTS + LATER
    assert files == {f"blocks/{each.name}": each.body for each in found.blocks} | data | {
        "refs/head": found.blocks[-1].name.encode()
    }
    assert (found.new, found.slices, found.size) == (17, 3, sum(map(len, data.values())))


def test_a_repeated_export_writes_what_is_new(line: Lake, tmp_path: Path) -> None:
    """Nothing where nothing is; else the new blocks and slices, as an export of all of them has them."""
    folder = tmp_path / "shared"
    line.export(folder)
    before = {each: each.stat().st_mtime_ns for each in folder.rglob("*") if each.is_file()}
    again = line.export(folder)
    assert (again.new, again.slices, again.size) == (0, 0, 0)
    assert {each: each.stat().st_mtime_ns for each in folder.rglob("*") if each.is_file()} == before

    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,new\n", WIDER)
    found = line.export(folder)
    line.export(tmp_path / "whole")

    assert (found.new, found.slices) == (2, 1)
    assert files_of(folder) == files_of(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if path.name != "head")


def test_a_watermark_that_a_person_set_is_that_of_the_dataset(line: Lake, tmp_path: Path) -> None:
    """At once, not with the next slice; one that is there already is no event, nor is one before the first slice."""

    def marks(time: str) -> Record:
        return replace(
            RECORD, kind="watermark", content={"watermark": time, "before": ""}, event=event_id("watermark", time)
        )

    line.append(marks("2026-11-24T00:00:00.000000Z"))
    found = line.export(tmp_path / "shared")
    state = bring(tmp_path / "shared", tmp_path / "copy").state
    assert (found.new, state.sequence, state.last_offset) == (19, 18, 3)
    assert state.watermark == moment_of(datetime(2026, 11, 24, tzinfo=UTC))
    line.append(marks("2026-11-24T00:00:00.000000Z"))
    assert line.export(tmp_path / "shared").new == 1

    early = replace(line, folder=tmp_path / "early", stored=[], offset=0, watermark=None)
    early.name_key()
    early.append(marks("2026-11-01T00:00:00.000000Z"))
    early.publish("id,at\n1,2026-11-20T10:00:00Z\n")
    assert early.export(tmp_path / "other").new == 10
    assert bring(tmp_path / "other", tmp_path / "other copy").state.watermark == moment_of(
        datetime(2026, 11, 19, 10, tzinfo=UTC)
    )


class Failing:
    """A folder whose writer ends before a write."""

    def __init__(self, folder: Path, left: int) -> None:
        self.place, self.left = FolderPlace(folder), left
        self.pieces, self.head, self.locked = self.place.pieces, self.place.head, self.place.locked

    def _write(self) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1

    def put(self, name: str, body: bytes | Path) -> None:
        self._write()
        self.place.put(name, body)

    def set_head(self, text: str, before: OdfHead | None) -> None:
        self._write()
        self.place.set_head(text, before)


@pytest.mark.parametrize("writes", range(6))
def test_whoever_reads_while_an_export_is_written_has_a_whole_dataset(line: Lake, tmp_path: Path, writes: int) -> None:
    """Whenever the writer ends, the dataset is the one before, and the next export ends what was begun."""
    folder = tmp_path / "shared"
    line.export(folder)
    before = files_of(folder)["refs/head"]
    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,new\n", WIDER)
    line.quarantine()
    place = Failing(folder, writes)
    if writes < 5:
        with pytest.raises(KeyboardInterrupt):
            export_dataset(line.dependencies, LINE, place)
    else:
        export_dataset(line.dependencies, LINE, place)

    assert bring(folder, tmp_path / "copy").blocks == (17 if writes < 5 else 20)
    assert (files_of(folder)["refs/head"] == before) == (writes < 5)
    line.export(folder)
    assert bring(folder, tmp_path / "copy").blocks == (3 if writes < 5 else 0)
    assert files_of(folder) == files_of(tmp_path / "copy")


def lost(line: Lake) -> None:
    line.objects.popitem()


def altered(line: Lake) -> None:
    key, body = line.objects.popitem()
    line.objects[key] = body[:-1] + b"?"


def cut(line: Lake) -> None:
    line.stored[1:2] = []


def without_slices(line: Lake) -> None:
    line.stored[1:] = []


def exchanged_plan(line: Lake) -> None:
    line.plans = dict.fromkeys(line.plans, WIDER.to_bytes())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lost, "not there any more; `lakegate verify DATASET --objects` names every such object"),
        (altered, "has another size or checksum than the manifest lists"),
        (cut, f"the chain of {LINE} is broken: `lakegate verify {LINE}`"),
        (without_slices, "has no slices: its contract needs `publishAs: parquet`"),
        (
            exchanged_plan,
            "the plan of the block 1 is not the one that it names",
        ),
    ],
)
def test_a_line_that_is_not_as_recorded_is_not_exported(
    line: Lake, tmp_path: Path, change: Callable[[Lake], None], reason: str
) -> None:
    """Chain, slices and columns are compared before anything of them is visible."""
    change(line)
    with pytest.raises(InputError, match=reason):
        line.export(tmp_path / "shared")
    assert not (tmp_path / "shared/refs/head").exists()


def forked_line(line: Lake, signer: MemoryKey = ONE) -> None:
    line.stored, line.offset, line.watermark, line.by = [], 0, None, signer
    line.name_key()
    line.publish("id,at\n1,2026-11-20T10:00:00Z\n")


def other_line(line: Lake) -> None:
    forked_line(line, FORGER)


@pytest.mark.parametrize("change", [shorter_line, forked_line, other_line])
def test_another_dataset_is_not_overwritten(line: Lake, shared: Path, change: Callable[[Lake], None]) -> None:
    """Neither a longer one of the same line, nor a fork of it, nor one of another line."""
    before = files_of(shared)
    change(line)
    with pytest.raises(InputError, match=f"another dataset than {LINE}, or a longer one"):
        line.export(shared)
    assert files_of(shared) == before


def test_an_imported_folder_is_the_dataset(shared: Path, tmp_path: Path) -> None:
    """File by file; another import finds nothing new, and what was added since is all that it brings."""
    found = bring(shared, tmp_path / "copy")
    assert (found.name, found.blocks, len(found.added)) == (LINE, 17, 3)
    assert found.ledger is not None
    assert found.ledger.height == 4
    assert files_of(tmp_path / "copy") == files_of(shared)

    again = bring(shared, tmp_path / "copy")
    assert (again.blocks, again.added) == (0, ())


def test_an_import_brings_what_is_new(line: Lake, tmp_path: Path) -> None:
    """Only blocks and data above the head of the folder."""
    line.export(tmp_path / "shared")
    bring(tmp_path / "shared", tmp_path / "copy")
    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,new\n", WIDER)
    line.export(tmp_path / "shared")
    asked: list[str] = []
    source = SimpleNamespace(pieces=lambda name: asked.append(name) or FolderPlace(tmp_path / "shared").pieces(name))
    found = bring_dataset(source, FolderPlace(tmp_path / "copy"), Proof(signatures_by(None)))

    assert (found.blocks, [each.data.start for each in found.added]) == (2, [4])
    assert [each.partition("/")[0] for each in asked] == ["refs", "blocks", "blocks", "data"]
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "shared")


class Breaking:
    """A source that breaks off after so many objects."""

    def __init__(self, folder: Path, left: int) -> None:
        self.folder, self.left = folder, left
        self.asked: list[str] = []

    def pieces(self, name: str) -> Iterator[bytes]:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked.append(name)
        return FolderPlace(self.folder).pieces(name)


def test_an_interrupted_import_goes_on(shared: Path, tmp_path: Path) -> None:
    """Wherever it ends, nothing is visible, and each object comes once."""
    for left in range(1, 14):
        folder = tmp_path / str(left)
        first, second = Breaking(shared, left), Breaking(shared, 100)
        with pytest.raises(KeyboardInterrupt):
            bring_dataset(first, FolderPlace(folder), Proof(signatures_by(None)))
        assert not (folder / "refs").exists()
        bring_dataset(second, FolderPlace(folder), Proof(signatures_by(None)))

        assert sorted(first.asked[1:] + second.asked[1:]) == sorted(
            each for each in files_of(shared) if each != "refs/head"
        )
        assert files_of(folder) == files_of(shared)


def test_a_fork_is_refused(line: Lake, tmp_path: Path) -> None:
    """A dataset that is another one above a block, from its first block on, or older, leaves the folder as it is."""
    folders = {name: tmp_path / name for name in ("short", "one", "other", "fork", "copy")}
    line.export(folders["one"])
    stored = list(line.stored)
    line.stored[4:] = []
    line.export(folders["short"])
    line.quarantine()
    line.export(folders["fork"])
    other_line(line)
    line.export(folders["other"])
    line.stored = stored
    bring(folders["one"], folders["copy"])
    before = files_of(folders["copy"])
    for name, reason in (
        ("short", "the dataset is older than the one in the folder"),
        ("fork", "is another one above the block f1620"),
        ("other", "is another one from its first block on"),
    ):
        with pytest.raises(InputError, match=reason):
            bring(folders[name], folders["copy"])
        assert files_of(folders["copy"]) == before


def a_file(folder: Path) -> Path:
    folder.write_text("")
    return folder


def with_more(folder: Path) -> Path:
    folder.mkdir()
    (folder / "notes.txt").write_text("")
    return folder


def with_a_link(folder: Path) -> Path:
    folder.mkdir()
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir()
    (folder / "data").symlink_to(elsewhere)
    return folder


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (a_file, "is not a folder"),
        (with_more, "has notes.txt, which is no part"),
        (with_a_link, "data is a symbolic link"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(
    shared: Path, tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    """Nothing is written beside files that are no dataset."""
    with pytest.raises(InputError, match=reason):
        bring(shared, make(tmp_path / "copy"))


def test_a_full_disk_is_noticed_before_data_comes(
    made: Lake, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks state how much there is."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(InputError, match=f"the data has {size_of(made):,} bytes, and 100 are free"):
        bring(shared, tmp_path / "copy")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder behind a web server of this process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class Quiet(SimpleHTTPRequestHandler):
    """Any static file server; two paths behave badly."""

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", "/")
            self.end_headers()
        elif self.path.startswith("/slow"):  # the head of an answer without end, or its body
            self.send_response(200)
            if self.path.startswith("/slow-body/"):
                self.end_headers()
            self.flush_headers()
            with suppress(OSError):
                for _ in range(100):
                    self.wfile.write(b"X: 1\r\n")
                    time.sleep(0.02)
        elif self.path.startswith("/broken/"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"f1620")
        else:
            super().do_GET()


def test_a_static_web_server_is_a_repository(shared: Path, tmp_path: Path) -> None:
    """Files come by their names; what answers otherwise is refused."""
    with served(shared) as url:
        assert (
            bring_dataset(source_of(f"{url}/"), FolderPlace(tmp_path / "copy"), Proof(signatures_by(None))).blocks == 17
        )
        for path, reason in (
            ("moved", "answered 302"),
            ("broken", "broke off|does not answer"),
            ("none", "the source has no dataset"),
        ):
            with pytest.raises(InputError, match=reason):
                bring_dataset(source_of(f"{url}/{path}"), FolderPlace(tmp_path / path), Proof(signatures_by(None)))

    assert files_of(tmp_path / "copy") == files_of(shared)
    with pytest.raises(InputError, match="does not answer"):
        list(WebSource(url).pieces("refs/head"))


@pytest.mark.parametrize("path", ["slow-head", "slow-body"])
def test_a_server_that_sends_a_few_bytes_now_and_then_is_given_up(
    path: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the head of an answer, or of its body."""
    monkeypatch.setattr("lakegate.features.odf.exchange.odf_repositories.PATIENCE", 0.5)
    with served(shared) as url, pytest.raises(InputError, match=r"does not answer|is sent too slowly"):
        bring_dataset(source_of(f"{url}/{path}"), FolderPlace(tmp_path / "copy"), Proof(signatures_by(None)))


def test_an_export_does_not_write_through_a_link(line: Lake, tmp_path: Path) -> None:
    """As an import does not."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset/data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="data is a symbolic link, which would be written through"):
        line.export(tmp_path / "dataset")

    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "https://me@example.com/a",
        "https://example.com/a?b=c",
        "https://example.com/#a",
        "https:///a",
        "ftp://a/b",
        "s3:///a",
    ],
)
def test_addresses_of_no_dataset_are_refused(text: str) -> None:
    """Nothing is sent to them."""
    with pytest.raises(InputError, match=r"address of a dataset|neither a folder|names no bucket"):
        source_of(text)


def test_a_bucket_is_a_repository(line: Lake, lakegate: Lakegate, tmp_path: Path) -> None:
    """An export to S3 is imported from there, and goes on where it was; the head is replaced only as it was read."""
    place = place_of(f"s3://{LAKE}/shared/visits/")
    export_dataset(line.dependencies, LINE, place)
    before = place.head()
    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,new\n", WIDER)
    assert export_dataset(line.dependencies, LINE, place).new == 2
    assert (
        bring_dataset(
            source_of(f"s3://{LAKE}/shared/visits"), FolderPlace(tmp_path / "copy"), Proof(signatures_by(None))
        ).blocks
        == 19
    )
    line.export(tmp_path / "shared")
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "shared")

    for stale in (None, before):
        with pytest.raises(InputError, match="was changed by somebody else"):
            place.set_head("f1620", stale)
    assert files_of(tmp_path / "shared")["refs/head"].decode() == head_in(place)
    assert lakegate.dependencies is not None


def head_in(place: Any) -> str:
    found: OdfHead | None = place.head()
    assert found is not None
    return found.text


def test_a_folder_that_was_changed_meanwhile_is_not_overwritten(shared: Path) -> None:
    """The head is compared once more before it is replaced."""
    with pytest.raises(InputError, match="was changed by somebody else"):
        FolderPlace(shared).set_head("f1620", None)

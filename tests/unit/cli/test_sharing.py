"""`lakegate dataset export` and `import`: a line as a dataset of ODF, and back."""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from lakegate.cli.dataset_export import exported
from lakegate.cli.dataset_import import imported
from lakegate.cli.main import app
from lakegate.cli.odf_ledger import Proof
from lakegate.cli.odf_places import FolderPlace
from lakegate.cli.odf_repositories import WebSource, place_of, source_of
from lakegate.cli.signing import signatures_by
from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.metadata import OtherEvent, SetAttachments, block_in
from tests.unit.cli.conftest import LAKE
from tests.unit.cli.shared_line import LINE, WIDER, a_line, bring, files_of
from tests.unit.signing import FORGER, ONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lakegate.cli.odf_places import OdfHead
    from tests.fakes.signing import MemoryKey
    from tests.unit.cli.conftest import Lakegate
    from tests.unit.cli.shared_line import Lake


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A line that no test changes."""
    return a_line(tmp_path_factory.mktemp("line"))


@pytest.fixture
def line(made: Lake, tmp_path: Path) -> Lake:
    """A copy of the line for one test."""
    return replace(made, folder=tmp_path / "made", objects=dict(made.objects), stored=list(made.stored))


@pytest.fixture
def shared(made: Lake, tmp_path: Path) -> Path:
    """The line as a dataset in a folder."""
    made.export(tmp_path / "shared")
    return tmp_path / "shared"


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
            exported(line.dependencies, LINE, place)
    else:
        exported(line.dependencies, LINE, place)

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
        (lost, "not there any more; `lakegate verify LINE --objects` names every such object"),
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


def shorter_line(line: Lake) -> None:
    line.stored[3:] = []


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
    found = imported(source, FolderPlace(tmp_path / "copy"), Proof(signatures_by(None)))

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
            imported(first, FolderPlace(folder), Proof(signatures_by(None)))
        assert not (folder / "refs").exists()
        imported(second, FolderPlace(folder), Proof(signatures_by(None)))

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
    before = {each: body for each, body in files_of(folders["copy"]).items() if each in files_of(folders["one"])}
    for name, reason in (
        ("short", "the dataset is older than the one in the folder"),
        ("fork", "is another one above the block f1620"),
        ("other", "is another one from its first block on"),
    ):
        with pytest.raises(InputError, match=reason):
            bring(folders[name], folders["copy"])
    after = files_of(folders["copy"])

    assert {each: after[each] for each in before} == before


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


def size_of(line: Lake) -> int:
    """Bytes of its slices."""
    return sum(map(len, line.objects.values()))


def one(folder: Path, kind: str, number: int = 0) -> Path:
    """A file of the dataset, the smallest first."""
    return sorted((folder / kind).iterdir(), key=lambda each: (each.stat().st_size, each.name))[number]


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
        (headed(""), "multibase"),
        (headed("../../etc/passwd"), "multibase"),
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
    monkeypatch.setattr(f"lakegate.cli.odf_dataset.{bound}", most)
    with pytest.raises(InputError, match="the chain has more than"):
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
        assert imported(source_of(f"{url}/"), FolderPlace(tmp_path / "copy"), Proof(signatures_by(None))).blocks == 17
        for path, reason in (
            ("moved", "answered 302"),
            ("broken", "broke off|does not answer"),
            ("none", "the source has no dataset"),
        ):
            with pytest.raises(InputError, match=reason):
                imported(source_of(f"{url}/{path}"), FolderPlace(tmp_path / path), Proof(signatures_by(None)))

    assert files_of(tmp_path / "copy") == files_of(shared)
    with pytest.raises(InputError, match="does not answer"):
        list(WebSource(url).pieces("refs/head"))


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
    exported(line.dependencies, LINE, place)
    before = place.head()
    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,new\n", WIDER)
    assert exported(line.dependencies, LINE, place).new == 2
    assert (
        imported(
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


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, ["dataset", *map(str, words)])
    assert found.exit_code == code, found.output
    return found.stdout


def test_what_the_commands_print(made: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people and for machines."""
    monkeypatch.setattr("lakegate.cli.dataset_export.line_named", lambda _, name: name)

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Any]:
        yield SimpleNamespace(dependencies=lambda: made.dependencies)

    monkeypatch.setattr("lakegate.cli.dataset_export.opened", opened)
    shared, copy = tmp_path / "shared", tmp_path / "copy"
    exported_text = run("export", LINE, shared)
    head, key = (shared / "refs/head").read_text(), tmp_path / "key.pem"
    key.write_bytes(ONE.pem)
    again = json.loads(run("export", LINE, shared, "--json"))
    document = json.loads(run("import", shared, copy, "--json", "--key", key))
    text = run("import", shared, copy)

    assert exported_text.splitlines() == [
        f"{LINE}: 17 new of 17 blocks, 3 new slices, {size_of(made):,} bytes",
        f"  identity  {document['id']}",
        f"  head      {head}",
    ]
    counts = {"blocks": 0, "slices": 0, "bytes": 0}
    assert again == {"line": LINE, "id": document["id"], "destination": str(shared), "head": head, **counts}
    assert {name: document[name] for name in ("dataset", "head", "blocks", "slices", "rows", "bytes")} == {
        "dataset": LINE,
        "head": head,
        "blocks": 17,
        "slices": 3,
        "rows": 4,
        "bytes": size_of(made),
    }
    terms = {"name": "Our terms", "short_name": "Our terms", "spdx_id": None, "website_url": ""}
    assert document["license"] == terms
    assert document["ledger"] == {"line": LINE, "height": 4, "digest": made.previous}
    assert document["signatures"]["proven_by"] == "key"
    assert text.splitlines()[:7] == [
        f"{LINE}: 0 new blocks",
        "  0 slices, each as its block states: 0 rows, 0 bytes",
        f"  identity  {document['id']}",
        f"  head      {head}",
        "  licence   `Our terms`",
        "The ledger in its attachments is intact, and gives this dataset.",
        f"  height and digest  4={made.previous}",
    ]


def test_the_key_of_somebody_else_is_no_proof(shared: Path, tmp_path: Path) -> None:
    """`--key` is a key that must have signed."""
    key = tmp_path / "key.pem"
    key.write_bytes(FORGER.pem)
    with pytest.raises(InputError, match="no block is signed by the given key"):
        imported(FolderPlace(shared), FolderPlace(tmp_path / "copy"), Proof(signatures_by(key)))


def test_a_dataset_in_a_folder_is_verified(made: Lake, shared: Path, tmp_path: Path) -> None:
    """All of it, without a stack: by the key and a digest of the ledger that are known from elsewhere."""
    key = tmp_path / "key.pem"
    key.write_bytes(ONE.pem)
    anchor = f"4={made.previous}"
    found = json.loads(run("verify", shared, "--key", key, "--anchor", anchor, "--json"))

    assert (found["faults"], found["dataset"], found["blocks"], found["slices"], found["rows"]) == ([], LINE, 17, 3, 4)
    assert found["signatures"]["proven_by"] == "key"
    assert run("verify", shared).splitlines()[:2] == [
        f"{LINE}: 17 blocks",
        f"  3 slices, each as its block states: 4 rows, {size_of(made):,} bytes",
    ]


def test_what_was_changed_in_a_folder_is_named(shared: Path) -> None:
    """Each slice that is missing or was changed, or the block from which on nothing can be followed."""
    first, last = one(shared, "data"), one(shared, "data", -1)
    first.unlink()
    last.write_bytes(last.read_bytes()[:-1] + b"?")
    text = run("verify", shared, code=1).splitlines()
    assert text[0] == f"{shared} is not as stated:"
    assert sorted(each.partition(": ")[2] for each in text[1:]) == sorted(
        [
            f"data/{first.name} is not as stated: it is missing",
            f"data/{last.name} is not as stated: its bytes are others than its name says",
        ]
    )
    one(shared, "blocks").write_bytes(b"")
    found = json.loads(run("verify", shared, "--json", code=1))
    assert list(found) == ["faults"]
    assert found["faults"][0].endswith("are others than its name says")


def test_a_folder_without_a_dataset_is_not_verified(tmp_path: Path) -> None:
    """There is nothing to say of it."""
    found = CliRunner().invoke(app, ["dataset", "verify", str(tmp_path)])

    assert isinstance(found.exception, InputError)
    assert "has no dataset: refs/head is missing" in str(found.exception)


def test_a_dataset_that_ends_too_early_is_found_by_an_anchor(line: Lake, tmp_path: Path) -> None:
    """A digest of the ledger proves that nothing is missing below it."""
    anchors = {4: line.previous}
    shorter_line(line)
    line.export(tmp_path / "shared")
    proof = Proof(signatures_by(None), anchors)
    with pytest.raises(InputError, match="broken: anchor at block 3"):
        imported(FolderPlace(tmp_path / "shared"), FolderPlace(tmp_path / "copy"), proof)
    assert not (tmp_path / "copy/refs").exists()


def read(folder: Path, *words: str) -> list[int]:
    """The ids of the rows of an answer."""
    return [each["id"] for each in json.loads(run("read", folder, "--json", *words))["records"]]


def test_an_imported_dataset_is_read(shared: Path, tmp_path: Path) -> None:
    """All rows, those up to a time, and those above a block; only slices that may have one are read."""
    bring(shared, tmp_path / "copy")
    copy = tmp_path / "copy"

    assert read(copy) == [1, 2, 3, 4]
    assert read(copy, "--as-of", "2026-11-20T09:30:00Z") == [2, 3]
    assert read(copy, "--changes-since", "11") == [4]
    assert read(copy, "--as-at", "2026-11-21") == []
    found = json.loads(run("read", copy, "--json", "--as-of", "2026-11-20"))
    assert (found["line"], found["height"], found["slices"]) == (LINE, 16, {"read": 1, "skipped": 2})


def test_a_damaged_copy_is_not_read(shared: Path, tmp_path: Path) -> None:
    """A slice that is missing is named."""
    bring(shared, tmp_path / "copy")
    one(tmp_path / "copy", "data").unlink()
    found = CliRunner().invoke(app, ["dataset", "read", str(tmp_path / "copy")])

    assert isinstance(found.exception, InputError)
    assert "is missing, or has another size than its block states" in str(found.exception)


def attachments(folder: Path) -> list[SetAttachments]:
    found = [block_in(each.read_bytes()).event for each in (folder / "blocks").iterdir()]
    return [each for each in found if isinstance(each, SetAttachments)]


def test_verdicts_are_attached(shared: Path) -> None:
    """Each delivery, the rejected one included, is there with its verdict."""
    texts = dict(item for each in attachments(shared) for item in each.items)
    plan = texts.pop("lakegate/plan.json")
    ledger = {path: json.loads(text) for path, text in texts.items() if not path.endswith(".signature.json")}
    verdicts = {path: each.get("verdict") for path, each in sorted(ledger.items())}

    assert list(verdicts.values()) == [None, "accepted", "rejected", "accepted", "accepted"]
    assert len(texts) == 10
    assert json.loads(plan)["contract"] == json.loads(WIDER.to_bytes())["contract"]

"""`lakegate get`: accepted data on a disk, whole, verified, and nowhere else than in its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakegate.aws.s3_objects import S3Store
from lakegate.base.errors import NotFound
from lakegate.gate.ports import Address
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate, with_segments
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/orders_v1"
MANIFEST = f"accepted/{LINE}/_manifest.json"
OTHER: dict[str, Any] = {
    "format": "lakegate-manifest/3",
    "line": "shop/bills_v1",
    "height": 0,
    "segments": {"count": 0, "heights": 1000},
    "lifecycle": None,
    "deliveries": [],
    "gapless": True,
}
"""The head of another dataset."""
BODIES = {"a.csv": b"id,amount\na,1\nb,2\nc,3\nd,4\n", "b.csv": b"id,amount\ne,5\nf,6\ng,7\nh,8\n"}


@pytest.fixture
def filled(lakegate: Lakegate) -> Lakegate:
    """A line with two accepted deliveries and a rejected one between them."""
    lakegate.begin(_fill)
    return lakegate


def _fill(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=BODIES["a.csv"])
    lakegate.delivered(1, name="bad.csv", body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")
    lakegate.delivered(name="b.csv", body=BODIES["b.csv"])


def manifest(lakegate: Lakegate) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(lakegate.dependencies.objects.read(Address(LAKE, MANIFEST)))
    return document


def change(lakegate: Lakegate, **of_first_object: object) -> None:
    """A manifest that somebody has changed."""
    document = manifest(lakegate)
    document["deliveries"][0]["objects"][0] |= of_first_object
    lakegate.dependencies.objects.put(Address(LAKE, MANIFEST), json.dumps(document).encode())


def files(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def data(folder: Path) -> list[bytes]:
    return sorted(body for name, body in files(folder).items() if name != "_manifest.json")


def places(lakegate: Lakegate) -> list[str]:
    listed = (one["key"] for each in manifest(lakegate)["deliveries"] for one in each["objects"])
    return [key.removeprefix(f"accepted/{LINE}/") for key in listed]


def test_a_line_is_fetched_whole(filled: Lakegate, tmp_path: Path) -> None:
    """Every accepted file is below the folder as in the lake, with the manifest, and the next height is printed."""
    folder = tmp_path / "new" / "my data"
    result = filled.ok("get", "orders", str(folder))
    first, second = places(filled)

    assert result.splitlines() == [
        f"line  {LINE}",
        f"fetched  {first}  26 bytes, sha256",
        f"fetched  {second}  26 bytes, sha256",
        f"What is accepted later: lakegate get {LINE} '{folder}' --since 2",
    ]
    assert {name: body for name, body in files(folder).items() if name != "_manifest.json"} == {
        first: BODIES["a.csv"],
        second: BODIES["b.csv"],
    }
    assert json.loads((folder / "_manifest.json").read_bytes()) == manifest(filled)
    validate("manifest", manifest(filled))


def test_only_what_is_above_a_height_is_fetched(filled: Lakegate, tmp_path: Path) -> None:
    """With the height of the last run nothing is missed and nothing comes twice."""
    document = filled.json("get", LINE, str(tmp_path / "x"), "--since", "0")
    nothing = filled.ok("get", LINE, str(tmp_path / "y"), "--since", "2")

    assert [each["height"] for each in document["deliveries"]] == [2]
    assert (document["line"], document["since"], document["height"], document["complete"]) == (LINE, 0, 2, True)
    assert data(tmp_path / "x") == [BODIES["b.csv"]]
    assert nothing.splitlines()[0] == f"Nothing of {LINE} was accepted above height 2."
    assert not (tmp_path / "y").exists()


def test_only_what_was_accepted_since_a_time_is_fetched(filled: Lakegate, tmp_path: Path) -> None:
    """A consumer who reads each day needs no height; a text that is neither is refused."""
    first, second = (each["published_at"] for each in manifest(filled)["deliveries"])
    document = filled.json("get", LINE, str(tmp_path / "x"), "--since", second)
    all_of_them = filled.json("get", LINE, str(tmp_path / "y"), "--since", first[:10])
    error = str(filled("get", LINE, str(tmp_path / "z"), "--since", "yesterday").exception)

    assert ([each["height"] for each in document["deliveries"]], document["since"]) == ([2], 0)
    assert ([each["height"] for each in all_of_them["deliveries"]], all_of_them["since"]) == ([0, 2], -1)
    assert error == "--since `yesterday` is neither a height nor a time such as 2026-11-26T08:00"


def test_a_line_that_ends_is_named_with_its_replacement(filled: Lakegate, tmp_path: Path) -> None:
    """Who reads a deprecated line hears of it with the data, as long as nobody reactivates it."""
    before = filled("get", LINE, str(tmp_path / "x")).stderr
    filled.ok("deprecate", LINE, "--reason", "old", "--replacement", "shop/orders_v2")
    filled.delivered(name="c.csv", body=b"id,amount\nx,5\n")  # writes the head of the manifest, as sweep does
    after = filled("get", LINE, str(tmp_path / "x"))

    assert (before, after.exit_code) == ("", 0)
    assert re.fullmatch(
        rf"lakegate: warning: {LINE} is deprecated, sunset from [-0-9]{{10}}, retired from [-0-9]{{10}}: use shop/orders_v2\n",
        after.stderr,
    )


def test_the_folders_manifest_lists_what_is_in_the_folder(filled: Lakegate, tmp_path: Path) -> None:
    """A reader of the folder finds every file that its manifest names, after several runs too."""
    heights = []
    for since in ("0", "-1"):
        filled.ok("get", LINE, str(tmp_path / "x"), "--since", since)
        listed = json.loads((tmp_path / "x/_manifest.json").read_bytes())
        heights.append([each["height"] for each in listed["deliveries"]])

    assert heights == [[2], [0, 2]]


def test_what_is_there_is_verified_and_not_fetched_again(filled: Lakegate, tmp_path: Path) -> None:
    """The second run reads no object; a changed file is fetched again."""
    filled.ok("get", LINE, str(tmp_path / "x"))
    again = filled.json("get", LINE, str(tmp_path / "x"))
    changed = tmp_path / "x" / places(filled)[1]
    changed.write_bytes(BODIES["a.csv"])
    repaired = filled.json("get", LINE, str(tmp_path / "x"))

    assert [[one["fetched"] for one in each["files"]] for each in again["deliveries"]] == [[False], [False]]
    assert [[one["fetched"] for one in each["files"]] for each in repaired["deliveries"]] == [[False], [True]]
    assert data(tmp_path / "x") == sorted(BODIES.values())


def test_a_folder_follows_the_current_state(filled: Lakegate, tmp_path: Path) -> None:
    """What is recalled is removed and left out, restored again."""
    folder, later = tmp_path / "x", tmp_path / "y"
    filled.ok("get", LINE, str(folder))
    first = manifest(filled)["deliveries"][0]["workload"]
    filled.ok("recall", first, "--reason", "wrong month")
    removed = filled.json("get", LINE, str(folder), "--since", "2")
    left_out = filled.ok("get", LINE, str(later)).splitlines()
    everything = filled.json("get", LINE, str(tmp_path / "z"), "--all")
    found = [data(folder), data(later), data(tmp_path / "z")]
    verified = [filled.ok("verify", LINE, "--data", str(tmp_path / each)) for each in "xyz"]
    filled.ok("restore", first, "--reason", "it was right")
    again = filled.json("get", LINE, str(folder), "--since", "3")

    assert removed["removed"] == [{"height": 0, "workload": first, "not_current": "recalled"}]
    assert "left out  1 delivery that is recalled or superseded: --all has everything" in left_out
    assert [each["not_current"] for each in everything["deliveries"]] == ["recalled", None]
    assert found == [[BODIES["b.csv"]], [BODIES["b.csv"]], sorted(BODIES.values())]
    counts = [re.findall(r"(\d+) files? compared", words) for words in verified]
    assert counts == [["1"], ["1"], ["2"]]  # what is not current and not there is not compared
    assert [(each["height"], each["files"][0]["fetched"]) for each in again["deliveries"]] == [(0, True)]
    assert data(folder) == sorted(BODIES.values())
    assert json.loads((folder / "_manifest.json").read_bytes()) == manifest(filled)


def reads(monkeypatch: pytest.MonkeyPatch, answer: Callable[..., bytes] | None = None) -> list[tuple[str, int]]:
    """The data that is read from the store from now on: key and first byte."""
    read, seen = S3Store.read, list[tuple[str, int]]()

    def spied(self: S3Store, address: Address, start: int = 0, length: int | None = None) -> bytes:
        if address.key.endswith(".csv"):
            seen.append((address.key.rpartition("/")[2], start))
            if answer:
                return answer(lambda: read(self, address, start, length), len(seen))
        return read(self, address, start, length)

    monkeypatch.setattr(S3Store, "read", spied)
    return seen


def test_a_download_goes_on_where_it_stopped(filled: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that arrived before are not fetched again; what is not whole has no place in the folder yet."""
    place = tmp_path / "x" / places(filled)[0]
    place.parent.mkdir(parents=True)
    place.with_name(f".{place.name}.part").write_bytes(BODIES["a.csv"][:10])
    seen = reads(monkeypatch)
    filled.ok("get", LINE, str(tmp_path / "x"))

    assert seen == [("part-00000.csv", 10), ("part-00000.csv", 0)]
    assert data(tmp_path / "x") == sorted(BODIES.values())


def test_a_beginning_of_other_bytes_is_fetched_anew(filled: Lakegate, tmp_path: Path) -> None:
    """What an earlier run left may be damaged; the object is not blamed for it."""
    place = tmp_path / "x" / places(filled)[0]
    place.parent.mkdir(parents=True)
    place.with_name(f".{place.name}.part").write_bytes(bytes(10))
    filled.ok("get", LINE, str(tmp_path / "x"))

    assert data(tmp_path / "x") == sorted(BODIES.values())


def test_a_run_that_is_cut_off_leaves_whole_deliveries_only(
    filled: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second delivery: the first is there and listed, and the next run completes the others."""

    def cut_off(read: Callable[[], bytes], count: int) -> bytes:
        if count == 2:
            raise KeyboardInterrupt
        return read()

    with monkeypatch.context() as patched:
        reads(patched, cut_off)
        filled("get", LINE, str(tmp_path / "x"))
    listed = json.loads((tmp_path / "x/_manifest.json").read_bytes())
    document = filled.json("get", LINE, str(tmp_path / "x"))

    assert (listed["height"], [each["height"] for each in listed["deliveries"]]) == (0, [0])
    assert [[one["fetched"] for one in each["files"]] for each in document["deliveries"]] == [[False], [True]]


@pytest.mark.parametrize(
    "of_object", [{"checksum": "sha256:AAAA"}, {"checksum": "crc32:AAAA"}, {"size": 25}, {"size": 27}]
)
def test_bytes_that_are_not_as_listed_are_not_kept(
    filled: Lakegate, tmp_path: Path, of_object: dict[str, object]
) -> None:
    """Another size or checksum ends the run with exit code 1, and nothing of the object stays."""
    change(filled, **of_object)
    result = filled("get", LINE, str(tmp_path / "x"))

    assert result.exit_code == 1
    assert result.stderr.startswith(f"lakegate: accepted/{LINE}/ingest_date=")
    assert result.stderr.endswith("another size or checksum than the manifest lists: nothing of it was kept\n")
    assert result.stdout == f"What is accepted later: lakegate get {LINE} {tmp_path / 'x'} --since -1\n"
    assert files(tmp_path / "x") == {}


def test_a_version_that_is_gone_ends_the_run(filled: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was deleted cannot be fetched; what came before it is there, and the JSON output reports it."""

    def gone(read: Callable[[], bytes], count: int) -> bytes:
        if count == 2:
            raise NotFound
        return read()

    reads(monkeypatch, gone)
    result = filled("get", LINE, str(tmp_path / "x"), "--json")
    document = json.loads(result.stdout)

    assert (result.exit_code, document["complete"], document["height"]) == (1, False, 0)
    assert "is not there any more" in result.stderr
    assert data(tmp_path / "x") == [b"", BODIES["a.csv"]]


def test_an_object_that_ends_early_is_not_kept(
    filled: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that answers nothing more does not hold the run up."""
    reads(monkeypatch, lambda _read, _count: b"")

    assert filled("get", LINE, str(tmp_path / "x")).exit_code == 1
    assert files(tmp_path / "x") == {}


DAY = "ingest_date=2026-11-21"
HOSTILE = [
    "/etc/passwd",
    "accepted/another/orders_v1/x",
    f"accepted/{LINE}/../../../outside.csv",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/../../../../outside.csv",
    f"accepted/{LINE}/{DAY}/workload=../part-00000.csv",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/..",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/.hidden",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/a/b.csv",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/a\\b.csv",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/a.csv\n",
    f"accepted/{LINE}/{DAY}/workload={'a' * 64}/\x1b[2J.csv",
    f"accepted/{LINE}//etc/passwd",
    f"accepted/{LINE}/_manifest.json",
]


def test_no_key_leads_out_of_the_folder(filled: Lakegate, tmp_path: Path) -> None:
    """A manifest with a key of another form is refused before anything is fetched or made."""
    before, result = set(tmp_path.rglob("*")), []
    for key in HOSTILE:
        change(filled, key=key)
        result.append(str(filled("get", LINE, str(tmp_path / "x")).exception))

    assert result == [f"what is listed is no object of this dataset: {key!r}" for key in HOSTILE]
    assert set(tmp_path.rglob("*")) == before


def test_an_object_without_a_checksum_is_compared_by_size(filled: Lakegate, tmp_path: Path) -> None:
    """S3 knows no checksum of the whole for some objects; the answer names what was compared."""
    change(filled, checksum="")

    assert filled.ok("get", LINE, str(tmp_path / "x")).splitlines()[0].endswith("  26 bytes, size only")


@pytest.fixture
def segmented(lakegate: Lakegate) -> Lakegate:
    """A line of five accepted deliveries: two segments of two heights, and one delivery in the head."""
    small = with_segments(lakegate, 2)
    small.begin(_five_deliveries)
    return small


def _five_deliveries(lakegate: Lakegate) -> None:
    lakegate.routed()
    for number in range(5):
        lakegate.delivered(name=f"{number}.csv", body=b"id,amount\n%d,1\nb,2\n" % number)


SEGMENT = f"accepted/{LINE}/_manifest/000000000002.json"


def test_a_manifest_in_segments_is_fetched_whole(segmented: Lakegate, tmp_path: Path) -> None:
    """Segments and head together are the line; the folder's manifest has all of it in one document."""
    head = manifest(segmented)
    document = segmented.json("get", LINE, str(tmp_path / "x"))
    listed = json.loads((tmp_path / "x/_manifest.json").read_bytes())

    assert (head["segments"], [each["height"] for each in head["deliveries"]]) == ({"count": 2, "heights": 2}, [4])
    assert [each["height"] for each in document["deliveries"]] == [0, 1, 2, 3, 4]
    assert ([each["height"] for each in listed["deliveries"]], listed["segments"]["count"]) == ([0, 1, 2, 3, 4], 0)
    assert len(data(tmp_path / "x")) == 5
    for key in (MANIFEST, SEGMENT):
        validate("manifest", json.loads(segmented.dependencies.objects.read(Address(LAKE, key))))
    validate("manifest", listed)


def test_segments_below_the_height_are_not_read(
    segmented: Lakegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --since, only the segments that reach above it are asked for; what the folder lists stays in its manifest."""
    segmented.ok("get", LINE, str(tmp_path / "x"), "--since", "3")
    read, keys = S3Store.read, list[str]()

    def spied(self: S3Store, address: Address, start: int = 0, length: int | None = None) -> bytes:
        keys.append(address.key)
        return read(self, address, start, length)

    monkeypatch.setattr(S3Store, "read", spied)
    segmented.ok("get", LINE, str(tmp_path / "x"), "--since", "2")
    listed = json.loads((tmp_path / "x/_manifest.json").read_bytes())

    assert [key for key in keys if "_manifest" in key] == [MANIFEST, SEGMENT]
    assert [each["height"] for each in listed["deliveries"]] == [3, 4]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (None, f"the segment of the manifest of {LINE} from height 2 is missing"),
        (0, f"the segment of the manifest of {LINE} from height 2 is another one"),
    ],
)
def test_a_wrong_segment_is_reported(segmented: Lakegate, tmp_path: Path, number: int | None, message: str) -> None:
    """A missing or exchanged segment ends the command in one sentence, before anything is fetched."""
    objects = segmented.dependencies.objects
    if number is None:
        objects.delete(Address(LAKE, SEGMENT))
    else:
        objects.put(Address(LAKE, SEGMENT), objects.read(Address(LAKE, f"accepted/{LINE}/_manifest/{number:012}.json")))

    assert str(segmented("get", LINE, str(tmp_path / "x")).exception) == message
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[", "the manifest of shop/orders_v1 is not JSON"),
        (b"[]", "manifest.json does not fit its schema at the whole document (rule: type)"),
        (
            json.dumps(OTHER).encode(),
            "the manifest of shop/orders_v1 is that of another line",
        ),
    ],
)
def test_what_is_no_manifest_is_refused(filled: Lakegate, tmp_path: Path, body: bytes, message: str) -> None:
    """One sentence, and nothing on the disk."""
    filled.dependencies.objects.put(Address(LAKE, MANIFEST), body)

    assert str(filled("get", LINE, str(tmp_path / "x")).exception) == message


def test_a_folder_holds_one_line(filled: Lakegate, tmp_path: Path) -> None:
    """Data of two lines is never mixed, and what is not a manifest of ours is not written over."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x/_manifest.json").write_text(json.dumps(OTHER))
    (tmp_path / "y").mkdir()
    (tmp_path / "y/_manifest.json").write_text("{}")

    assert str(filled("get", LINE, str(tmp_path / "x")).exception) == (
        f"{tmp_path / 'x'} holds data of shop/bills_v1: give another folder"
    )
    assert str(filled("get", LINE, str(tmp_path / "y")).exception) == (
        f"{tmp_path / 'y' / '_manifest.json'} cannot be read: give another folder"
    )


def test_a_folder_that_cannot_be_written_is_reported_in_one_sentence(filled: Lakegate, tmp_path: Path) -> None:
    """A file has the name of a needed folder."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / places(filled)[0].partition("/")[0]).write_text("")

    assert str(filled("get", LINE, str(tmp_path / "x")).exception).startswith(f"{tmp_path / 'x'} cannot be written: ")


def test_a_link_in_the_place_of_a_file_is_replaced(filled: Lakegate, tmp_path: Path) -> None:
    """Nothing is written through a link to somewhere else."""
    outside = tmp_path / "outside.csv"
    outside.write_bytes(b"precious")
    place = tmp_path / "x" / places(filled)[0]
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    place.with_name(f".{place.name}.part").symlink_to(outside)
    (tmp_path / "x" / "._manifest.json.part").symlink_to(outside)
    filled.ok("get", LINE, str(tmp_path / "x"))

    assert (outside.read_bytes(), place.is_symlink()) == (b"precious", False)
    assert data(tmp_path / "x") == sorted(BODIES.values())


def test_a_line_without_accepted_data_is_no_error(lakegate: Lakegate, tmp_path: Path) -> None:
    """A consumer may come before the first delivery."""
    lakegate.routed()

    assert lakegate.ok("get", "orders", str(tmp_path / "x")).splitlines() == [
        f"line  {LINE}",
        f"Nothing of {LINE} was accepted above height -1.",
        f"What is accepted later: lakegate get {LINE} {tmp_path / 'x'} --since -1",
    ]


def test_a_line_that_is_not_known_names_those_that_are(filled: Lakegate, tmp_path: Path) -> None:
    """As `log` and `verify` say it."""
    result = str(filled("get", "order", str(tmp_path / "x")).exception)

    assert result == "order is not a dataset; similar are `shop/orders_v1`. Did you mean `orders`?"


def test_the_quarantined_data_of_a_delivery_is_fetched(filled: Lakegate, tmp_path: Path) -> None:
    """By its landing key, verified; nothing else of the dataset. What is there already is not fetched again."""
    words = ("get", "--quarantined", "orders/bad.csv", str(tmp_path / "bad"))
    first, second = filled.json(*words), filled.json(*words)
    (file,) = first["files"]

    assert (first["key"], file["fetched"], second["files"][0]["fetched"]) == ("orders/bad.csv", True, False)
    assert [path.relative_to(tmp_path / "bad").as_posix() for path in (tmp_path / "bad").rglob("*.csv")] == [
        file["path"]
    ]
    assert (tmp_path / "bad" / file["path"]).read_bytes() == b"id,amount\n,1\nb,2\nc,3\nd,4\n"


def test_an_accepted_delivery_has_nothing_in_quarantine(filled: Lakegate, tmp_path: Path) -> None:
    """One sentence, and no folder."""
    result = filled("get", "--quarantined", "orders/a.csv", str(tmp_path / "bad"))

    assert str(result.exception) == "nothing is in quarantine of orders/a.csv: all of it was accepted, or erased"
    assert not (tmp_path / "bad").exists()


def test_a_dry_run_says_what_is_new_and_fetches_nothing(filled: Lakegate, tmp_path: Path) -> None:
    """Accepted deliveries alone, with their rows, above a height or since a time, or what a folder lacks; the next command."""
    folder = tmp_path / "data"
    every, since = (filled.json("get", "orders_v1", "--dry-run", *words) for words in ((), ("--since", "0")))
    filled.ok("get", "orders_v1", str(folder), "--since", "1")
    there = sorted(folder.rglob("*"))
    lacks = filled.json("get", "orders_v1", str(folder), "--dry-run")
    nothing = filled.ok("get", "orders_v1", str(folder), "--dry-run", "--since", "0")
    later = filled.ok("get", "orders_v1", "--dry-run", "--since", "2126-01-01")
    words = filled.ok("get", "orders_v1", str(folder), "--dry-run").splitlines()

    assert [(each["height"], each["rows"], each["files"], each["size"]) for each in every["deliveries"]] == [
        (0, 4, 1, len(BODIES["a.csv"])),
        (2, 4, 1, len(BODIES["b.csv"])),
    ]
    assert (every["folder"], every["since"], every["height"]) == (None, -1, 2)
    assert [each["height"] for each in since["deliveries"]] == [2]
    assert [each["height"] for each in lacks["deliveries"]] == [0]
    assert nothing == f"Nothing of {LINE} is new above height 0.\n"
    assert later == f"Nothing of {LINE} is new above height 2.\n"
    assert [words[0].split()[:2], words[1].split()[0]] == [["height", "accepted"], "0"]
    assert words[2:] == [f"Next: lakegate get {LINE} {folder} --since -1"]
    assert sorted(folder.rglob("*")) == there


def test_a_dry_run_says_what_is_not_current_any_more(filled: Lakegate, tmp_path: Path) -> None:
    """What the folder has and would lose."""
    folder = str(tmp_path / "data")
    workload = filled.json("get", "orders_v1", folder)["deliveries"][0]["workload"]
    filled.ok("recall", workload, "--reason", "the wrong month")
    found = filled.json("get", "orders_v1", folder, "--dry-run")
    words = filled.ok("get", "orders_v1", folder, "--dry-run").splitlines()

    assert found["removed"] == [{"height": 0, "workload": workload, "not_current": "recalled"}]
    assert (found["left_out"], found["deliveries"]) == (1, [])
    assert words[1:] == [
        "to be removed  height 0: it was recalled, and is not current any more",
        "left out  1 delivery that is recalled or superseded: --all has everything",
        f"Next: lakegate get {LINE} {folder} --since -1",
    ]


def test_a_dry_run_without_a_folder_compares_with_the_height_that_was_read(filled: Lakegate) -> None:
    """What was read before may not count any more, and what did not may count again."""
    workload = filled.json("get", "orders_v1", "--dry-run")["deliveries"][0]["workload"]
    filled.ok("recall", workload, "--reason", "the wrong month")
    recalled = filled.json("get", "orders_v1", "--dry-run", "--since", "2")
    words = filled.ok("get", "orders_v1", "--dry-run", "--since", "2").splitlines()
    known = filled.ok("get", "orders_v1", "--dry-run", "--since", "3").splitlines()
    filled.ok("restore", workload, "--reason", "it was right")
    restored = filled.json("get", "orders_v1", "--dry-run", "--since", "3")
    same = filled.json("get", "orders_v1", "--dry-run", "--since", "2")

    assert recalled["removed"] == [{"height": 0, "workload": workload, "not_current": "recalled"}]
    assert words[:2] == [
        f"Nothing of {LINE} is new above height 2.",
        "to be taken out  height 0: it was recalled, and is not current any more",
    ]
    assert known == [f"Nothing of {LINE} is new above height 3."]
    assert (restored["removed"], [each["height"] for each in restored["deliveries"]]) == ([], [0])
    assert (same["removed"], same["deliveries"]) == ([], [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["orders_v1"], "give the folder that the data goes to: lakegate get orders_v1 data/"),
        (["orders/a.csv", "--quarantined"], "give the folder that the data goes to: lakegate get orders/a.csv data/"),
        (["orders/a.csv", "--quarantined", "--dry-run"], "give the folder that the data goes to"),
        (["orders/a.csv", "bad", "--quarantined", "--dry-run"], "--dry-run is of a dataset: "),
    ],
)
def test_data_needs_a_folder(filled: Lakegate, words: list[str], expected: str) -> None:
    """Only a dry run has none."""
    assert str(filled("get", *words).exception).startswith(expected)

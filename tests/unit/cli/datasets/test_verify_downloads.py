"""`lakegate verify --data`: whatever is changed in a folder that `lakegate get` filled is named, with a stack and without."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Lakegate

LINE = "shop/orders_v1"
BODIES = (b"id,amount\na,1\nb,2\nc,3\nd,4\n", b"id,amount\ne,1\nf,2\ng,3\nh,4\n", b"id,amount\ni,1\nj,2\nk,3\nl,4\n")
Change = Callable[[Path], None]
Steps = tuple[str | int, ...]


@pytest.fixture
def folder(lakegate: Lakegate) -> Path:
    """A deprecated line of three accepted deliveries, downloaded, with its chain beside it."""
    return lakegate.begin(downloaded_line)


def downloaded_line(lakegate: Lakegate) -> Path:
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    lakegate.delivered(body=BODIES[1], name="two.csv")
    lakegate.ok("deprecate", "orders_v1", "--reason", "a new one", "--replacement", "shop/orders_v2")
    lakegate.delivered(body=BODIES[2], name="three.csv")
    folder = lakegate.folder / "data"
    lakegate("get", "orders_v1", str(folder))
    (lakegate.folder / "chain.yaml").write_text(lakegate.ok("log", "orders_v1", "--yaml"))
    return folder


def document_of(folder: Path) -> Any:
    return json.loads((folder / "_manifest.json").read_bytes())


def findings(lakegate: Lakegate, folder: Path) -> list[tuple[set[str], list[str]]]:
    """By the chain in a file, and by that of the stack: what is damaged, and what is said beside."""
    ways: tuple[list[str], ...] = ["--yaml", str(lakegate.folder / "chain.yaml")], []
    found = []
    for each in ways:
        result = lakegate("verify", LINE, *each, "--data", str(folder), "--json")
        objects = json.loads(result.stdout)["objects"]
        assert result.exit_code == bool(objects["damaged"])
        found.append(({f"{one['damage']} {one['file']}" for one in objects["damaged"]}, objects["notes"]))
    return found


def leaves(document: Any, place: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value of a document that has no others in it, by its place."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in inner:
        yield from leaves(value, (*place, name))
    if not inner:
        yield place, document


def at(document: Any, place: Steps) -> Any:
    for step in place:
        document = document[step]
    return document


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value[:-1]}{'1' if value[-1:] != '1' else '2'}"
        case None:
            return 1
    return [1]


NOT_COMPARED = {
    "without plans": {"segments", "format", "compression", "records", "csv"},
    "with plans": {"segments"},
}
"""Members of which the command says that it did not compare them; nobody reads the first one of a folder."""


def test_every_changed_value_of_a_downloaded_manifest_is_named(lakegate: Lakegate, folder: Path) -> None:
    """Each leaf with another value, each member taken out; what only plans say is said to be not compared without them."""
    path, good = folder / "_manifest.json", document_of(folder)
    before = findings(lakegate, folder)
    unseen = set()
    places = [place for place, _ in leaves(good) if place]
    for place in places:
        for is_there in (True, False):
            bad = copy.deepcopy(good)
            holder = at(bad, place[:-1])
            if is_there:
                holder[place[-1]] = other(holder[place[-1]])
            else:
                del holder[place[-1]]
            path.write_text(json.dumps(bad))
            for (damaged, notes), way in zip(findings(lakegate, folder), NOT_COMPARED, strict=True):
                is_named = place[-1] in NOT_COMPARED[way] or bool(NOT_COMPARED[way] & set(place))
                if "untrue _manifest.json" not in damaged and not (is_named and notes[-1].startswith("Not compared")):
                    unseen.add((way, place, is_there))

    assert [damaged for damaged, _ in before] == [set(), set()]
    assert [notes for _, notes in before] == [
        ["Not compared in _manifest.json: segments/heights, format, compression, records, csv."],
        ["Not compared in _manifest.json: segments/heights."],
    ]
    assert len(places) > 60
    assert unseen == set()


def listed(change: Callable[[list[Any]], object]) -> Callable[[Any], object]:
    return lambda document: change(document["deliveries"])


MANIFESTS: dict[str, Callable[[Any], object]] = {
    **{f"without delivery {number}": listed(lambda each, number=number: each.pop(number)) for number in range(3)},  # type: ignore[misc]
    "only the first": listed(lambda each: each.__delitem__(slice(1, None))),
    "only the first, and set back": lambda document: document.update(height=0, deliveries=document["deliveries"][:1]),
    "nothing": lambda document: document.update(height=-1, deliveries=[]),
    "one twice": listed(lambda each: each.append(each[0])),
    "another order": listed(list.reverse),
    "active again": lambda document: document.update(lifecycle=None),
    "set back": lambda document: document.update(height=3),
    "ahead": lambda document: document.update(height=9),
    "marked": lambda document: document.update(
        stale={"since": "x", "reason": "y", "height": 1, "rules": [{"rule": "r", "since": "x"}]}
    ),
    "later for --as-of": lambda document: document["deliveries"][0].update(event_time=["2030-01-01T00:00:00Z"] * 2),
    "slices": lambda document: document["deliveries"][0].update(slices=[]),
    "waived": lambda document: document["deliveries"][0].update(
        waiver={"actor": "a", "reason": "r", "expires": "2027-01-01T00:00:00Z", "rejected": "b" * 64}
    ),
}


@pytest.mark.parametrize("change", MANIFESTS)
def test_a_manifest_by_which_other_rows_would_be_read_is_named(lakegate: Lakegate, folder: Path, change: str) -> None:
    """Deliveries that it leaves out, lists twice or otherwise."""
    document = document_of(folder)
    MANIFESTS[change](document)
    (folder / "_manifest.json").write_text(json.dumps(document))

    assert [damaged for damaged, _ in findings(lakegate, folder)] == [{"untrue _manifest.json"}] * 2


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"{", b"null", b"[" * 100_000, b"\xff"])
def test_a_manifest_that_cannot_be_read_is_named(lakegate: Lakegate, folder: Path, body: bytes) -> None:
    """It is no reason to compare nothing."""
    (folder / "_manifest.json").write_bytes(body)

    assert [damaged for damaged, _ in findings(lakegate, folder)] == [{"untrue _manifest.json"}] * 2


def test_members_of_a_newer_release_are_named_and_no_damage(lakegate: Lakegate, folder: Path) -> None:
    """At any depth; no reader of this release uses them."""
    document = document_of(folder)
    document["later"] = document["deliveries"][1]["objects"][0]["later"] = 1
    (folder / "_manifest.json").write_text(json.dumps(document))

    for damaged, notes in findings(lakegate, folder):
        assert damaged == set()
        assert notes[0] == (
            "_manifest.json has members that this release does not know: /deliveries/1/objects/0/later, /later"
        )


def written(place: str) -> Change:
    def change(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(b"id,amount\nz,9\n")

    return change


def linked_away(place: str) -> Change:
    """The same content, which somebody changes later at another place."""

    def change(folder: Path) -> None:
        (path, *_) = sorted(folder.glob(place))
        away = folder.with_name("elsewhere")
        shutil.move(path, away)
        path.symlink_to(away)

    return change


def linked_folder(folder: Path) -> None:
    """Files of somebody else, by a link."""
    away = folder.with_name("elsewhere")
    away.mkdir()
    (away / "part-00000.csv").write_bytes(b"id,amount\nz,9\n")
    (folder / "ingest_date=2026-11-22").symlink_to(away)


def first(folder: Path) -> str:
    return min(each.relative_to(folder).as_posix() for each in folder.rglob("*.csv"))


FOREIGN: dict[str, tuple[Change, str]] = {
    "a file": (written("x.csv"), "extra x.csv"),
    "a hidden file": (written(".x.csv"), "extra .x.csv"),
    "a file that readers of folders pass over": (written("_x.csv"), "extra _x.csv"),
    "a file in a hidden folder": (written("_delta_log/0.json"), "extra _delta_log/0.json"),
    "a file in a partition": (written("ingest_date=2026-11-22/x.csv"), "extra ingest_date=2026-11-22/x.csv"),
    "a dataset of ODF": (written("refs/head"), "extra refs/head"),
    "what an interrupted download left": (written("._manifest.json.part"), "extra ._manifest.json.part"),
    "an empty folder": (lambda folder: (folder / "ingest_date=2026-11-22").mkdir(), "extra ingest_date=2026-11-22"),
    "a pipe": (lambda folder: os.mkfifo(folder / "pipe"), "extra pipe"),
    "a link to nothing": (lambda folder: (folder / "x").symlink_to("nothing"), "extra x"),
    "a link to the folder": (lambda folder: (folder / "x").symlink_to(folder), "extra x"),
    "a linked folder": (linked_folder, "extra ingest_date=2026-11-22"),
    "a linked partition": (linked_away("ingest_date=*"), "extra ingest_date="),
    "a linked delivery": (linked_away("*/workload=*"), "extra ingest_date="),
    "a linked file": (linked_away("*/*/*.csv"), "lost ingest_date="),
    "a linked manifest": (linked_away("_manifest.json"), "extra _manifest.json"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_whatever_is_no_part_of_a_download_is_named(lakegate: Lakegate, folder: Path, kind: str) -> None:
    """Also what readers of folders pass over, and links, whose content changes while the folder does not."""
    change, expected = FOREIGN[kind]
    change(folder)

    for damaged, _ in findings(lakegate, folder):
        assert len(damaged) == 1
        assert damaged.pop().startswith(expected)


def test_every_changed_file_of_a_download_is_named(lakegate: Lakegate, folder: Path) -> None:
    """Flipped, cut, longer, exchanged, removed."""
    names = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*.csv"))
    bodies = {each: (folder / each).read_bytes() for each in names}
    for name, after in zip(names, [*names[1:], names[0]], strict=True):
        body = bodies[name]
        flips = (body[:at] + bytes([byte ^ 1]) + body[at + 1 :] for at, byte in enumerate(body))
        for bad in (*flips, b"", body[:-1], body + b"\n", bodies[after]):
            (folder / name).write_bytes(bad)
            assert [damaged for damaged, _ in findings(lakegate, folder)] == [{f"altered {name}"}] * 2
        (folder / name).unlink()
        assert [damaged for damaged, _ in findings(lakegate, folder)] == [{f"lost {name}"}] * 2
        (folder / name).write_bytes(body)
    assert len(names) == 3
    assert [damaged for damaged, _ in findings(lakegate, folder)] == [set(), set()]


def test_a_deleted_manifest_is_said(lakegate: Lakegate, folder: Path) -> None:
    """`lakegate dataset read` reads nothing then; other programs read the files, which are as recorded."""
    (folder / "_manifest.json").unlink()

    missing = "_manifest.json is missing: other programs read the folder, `lakegate dataset read` does not."
    assert findings(lakegate, folder) == [(set(), [missing])] * 2


def test_an_interrupted_or_partial_download_is_no_forgery(lakegate: Lakegate, folder: Path) -> None:
    """What is missing is lost; the manifest is true of what is there."""
    shutil.rmtree(folder)
    lakegate("get", "orders_v1", str(folder), "--since", "0")
    (stack, _), (alone, _) = findings(lakegate, folder)

    assert stack == alone
    assert {each.partition(" ")[0] for each in stack} == {"lost"}
    assert len(stack) == 1

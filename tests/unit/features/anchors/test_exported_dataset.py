"""An exported line (its chain as YAML, its data in a folder, daily anchors in another): which evidence finds which attack."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256 as of_bytes
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from lakegate.features.anchors.anchors import Anchor, AnchoredHead, to_json
from lakegate.features.odf.format.logical_hash import digest_of
from lakegate.gate.ledger.blocks import (
    GENESIS,
    Block,
    BlockKind,
    LedgerObject,
    LedgerSlice,
    Record,
    canonical,
    digest,
    from_json,
)
from lakegate.gate.ledger.ledger_yaml import yaml_of
from lakegate.gate.ledger.signatures import SignedText
from tests.fakes.signing import MemoryKey
from tests.unit.cli.conftest import Lakegate
from tests.unit.features.anchors.anchor_days import day, signed
from tests.unit.gate.ledger.ledger_chain import RECORD, a_block
from tests.unit.gate.ledger.signing import FORGER, ONE, key_record, signature_by

LINE = RECORD.chain
Chain = list[SignedText]


def body(number: int) -> bytes:
    return f"id,amount\n{number},1\n".encode()


def place(number: int) -> str:
    return f"ingest_date=2026-11-21/workload={of_bytes(str(number).encode()).hexdigest()}/part-00000.csv"


def delivery(height: int, previous: str, **changes: Any) -> Block:
    """Of one object."""
    checksum = f"sha256:{b64encode(of_bytes(body(height)).digest()).decode()}"
    judged = LedgerObject(f"accepted/{LINE}/{place(height)}", "v1", len(body(height)), checksum)
    return replace(a_block(height, previous), objects=(judged,), **changes)


def chain_of(blocks: list[Any], by: MemoryKey) -> Chain:
    """Linked and signed, whatever the blocks were before."""
    made: Chain = []
    previous = GENESIS
    for height, each in enumerate(blocks):
        block = replace(each, height=height, previous=previous)
        made.append(SignedText(canonical(block), signature_by(by, block)))
        previous = digest(block)
    return made


def blocks_of(chain: Chain) -> list[Any]:
    return [from_json(each.text.decode()) for each in chain]


def lined() -> Chain:
    """The record of the key, then four deliveries."""
    return chain_of([key_record(0, GENESIS, ONE), *(delivery(height, GENESIS) for height in range(1, 5))], ONE)


@dataclass(slots=True)
class Export:
    """What somebody was given, and keeps: the key and the anchors apart from the rest."""

    folder: Path
    chain: Chain
    changed: tuple[str, str] = ("", "")
    """A text of the YAML and what somebody wrote in its place, once."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def file(self, number: int) -> Path:
        return self.data / place(number)

    def verify(self, *words: str) -> Any:
        path = self.folder / "chain.yaml"
        path.write_text("".join(yaml_of(*each) for each in self.chain).replace(*self.changed, 1))
        return CliRunner().invoke(app, ["verify", LINE, "--yaml", str(path), *words])


@pytest.fixture
def export(tmp_path: Path) -> Export:
    made = Export(tmp_path, lined())
    for number in range(1, 5):
        made.file(number).parent.mkdir(parents=True)
        made.file(number).write_bytes(body(number))
    (tmp_path / "key.pem").write_bytes(ONE.pem)
    head = AnchoredHead(LINE, 3, digest(blocks_of(made.chain)[3]))
    anchor = signed(Anchor(day(0), 0, True, 30, None, (head,), ()), [ONE])
    at = tmp_path / "anchors" / anchor.key
    at.parent.mkdir(parents=True)
    at.write_bytes(to_json(anchor))
    return made


def flip(export: Export) -> None:
    text = export.chain[2].text
    export.chain[2] = SignedText(text.replace(b'"rows":10', b'"rows":11'), export.chain[2].signature)


def delete(export: Export) -> None:
    del export.chain[2]


def insert(export: Export) -> None:
    export.chain.insert(2, export.chain[3])


def swap(export: Export) -> None:
    export.chain[2], export.chain[3] = export.chain[3], export.chain[2]


def truncate(export: Export) -> None:
    del export.chain[3:]


def truncate_above(export: Export) -> None:
    """Above the last anchor."""
    del export.chain[4:]


def unsign(export: Export) -> None:
    export.chain[2] = SignedText(export.chain[2].text)


def relink(export: Export) -> None:
    """Another content, and every link made good, by somebody who has no key."""
    blocks = blocks_of(export.chain)
    blocks[2] = replace(blocks[2], rows=11)
    relinked = chain_of(blocks, ONE)
    export.chain = [SignedText(new.text, old.signature) for new, old in zip(relinked, export.chain, strict=True)]


def forge(export: Export) -> None:
    """The same, signed by a key of the forger's, which the chain names."""
    blocks = blocks_of(export.chain)
    export.chain = chain_of(
        [key_record(0, GENESIS, FORGER), *blocks[1:2], replace(blocks[2], rows=11), *blocks[3:]], FORGER
    )


def resign(export: Export) -> None:
    """The same, by whoever controls the stack's key."""
    blocks = blocks_of(export.chain)
    export.chain = chain_of([*blocks[:2], replace(blocks[2], rows=11), *blocks[3:]], ONE)


def fork(export: Export) -> None:
    """Below an anchor, by whoever controls the key: another delivery, which is in the folder, too."""
    blocks = blocks_of(export.chain)
    export.chain = chain_of([*blocks[:3], delivery(7, GENESIS), *blocks[4:]], ONE)
    export.file(3).unlink()
    export.file(3).parent.rmdir()
    export.file(7).parent.mkdir()
    export.file(7).write_bytes(body(7))


def flip_data(export: Export) -> None:
    bad = bytearray(body(2))
    bad[-2] ^= 1
    export.file(2).write_bytes(bytes(bad))


def delete_data(export: Export) -> None:
    export.file(2).unlink()


def insert_data(export: Export) -> None:
    export.file(2).with_name("part-00001.csv").write_bytes(body(9))


def swap_data(export: Export) -> None:
    export.file(2).write_bytes(body(3))
    export.file(3).write_bytes(body(2))


def truncate_data(export: Export) -> None:
    export.file(2).write_bytes(body(2)[:-1])


def link_data(export: Export) -> None:
    export.file(2).unlink()
    export.file(2).symlink_to(export.file(3))


ATTACKS: dict[Callable[[Export], None], tuple[str, str, str, str]] = {
    flip: ("altered", "altered", "", "altered"),
    delete: ("altered", "altered", "extra", "altered"),
    insert: ("altered", "altered", "", "altered"),
    swap: ("altered", "altered", "", "altered"),
    truncate: ("", "", "extra", "truncated"),
    truncate_above: ("", "", "extra", ""),
    unsign: ("unsigned", "unsigned", "", "unsigned"),
    relink: ("signature", "signature", "", "rewritten"),
    forge: ("", "unknown-key", "", "rewritten"),
    resign: ("", "", "", "rewritten"),
    fork: ("", "", "", "rewritten"),
    flip_data: ("", "", "altered", ""),
    delete_data: ("", "", "lost", ""),
    insert_data: ("", "", "extra", ""),
    swap_data: ("", "", "altered", ""),
    truncate_data: ("", "", "altered", ""),
    link_data: ("", "", "lost", ""),
}
"""By attack: a fault that the chain alone shows; with the stack's key; the damage of its data; with daily anchors."""


def findings(export: Export, *words: str) -> tuple[set[str], set[str]]:
    """Names of faults, and of damages."""
    found = export.verify(*words, "--json")
    document = json.loads(found.stdout)
    damaged = (document.get("objects") or {"damaged": []})["damaged"]
    assert found.exit_code == (0 if document["intact"] else 1)
    return {each["what"] for each in document["faults"]}, {each["damage"] for each in damaged}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_each_attack_is_found_by_its_evidence(export: Export, attack: Callable[[Export], None]) -> None:
    """What the chain does not show by itself is found by key, data, or anchors; without an attack nothing is."""
    key = ("--key", str(export.folder / "key.pem"))
    evidence = ((), key, ("--data", str(export.data)), ("--anchors", str(export.folder / "anchors"), *key))
    before = [findings(export, *words) for words in evidence]
    attack(export)
    alone, by_key, by_data, by_anchors = (findings(export, *words) for words in evidence)
    found = (alone[0], by_key[0], by_data[1], by_anchors[0])

    assert before == [(set(), set())] * 4
    assert [name in names if name else not names for name, names in zip(ATTACKS[attack], found, strict=True)] == [
        True
    ] * 4


def test_every_attack_is_found_by_some_evidence_but_one_above_the_last_anchor() -> None:
    """What was cut off above the last anchor leaves data that no block names."""
    assert [attack.__name__ for attack, found in ATTACKS.items() if not any(found)] == []


def test_a_folder_is_compared_for_people(export: Export) -> None:
    """As recorded; then what is not, cut after twenty."""
    words = ("--data", str(export.data))
    good = export.verify(*words).stdout.splitlines()
    for number in range(22):
        export.file(2).with_name(f"x{number:02}\x9b").write_bytes(b"")
    delete_data(export)
    bad = export.verify(*words).stdout

    assert good[3] == "4 files compared with the chain: size and checksum of each are as recorded; no file is extra."
    assert bad.splitlines()[3:5] == [
        "4 files compared with the chain: 23 are not as recorded.",
        f"lost: {place(2)}, block 2",
    ]
    assert bad.splitlines()[-4:-2] == [
        "… and 3 more: --json lists them all.",
        "_manifest.json is missing: other programs read the folder, `lakegate dataset read` does not.",
    ]
    assert "\x9b" not in bad


def erasing(export: Export, *, done: bool, left: dict[str, Any] | None) -> None:
    """Rows of the second delivery were erased, or are going to be."""
    judged = blocks_of(export.chain)[2].objects[0]
    version = None if left is None else {**left, "version": "v2"}
    staged = None if left is None else {**left, "staged": "erasures/w/x", "version": "v9"}
    begun = {"workload": "w", "reason": "r", "fields": ["id"], "rows": 1}
    begun["objects"] = [{"key": judged.key, "version": judged.version, "rows": 1, "left": staged}]
    ended = {"erasure": "e" * 64, "workload": "w", "rows": 1}
    ended["objects"] = [{"key": judged.key, "rows": 1, "left": version}]
    blocks: list[Record] = [replace(RECORD, kind="erasure", event="e" * 64, content=begun)]
    blocks += [replace(RECORD, kind="erased", event="d" * 64, content=ended)] if done else []
    export.chain = chain_of([*blocks_of(export.chain), *blocks], ONE)


LEFT = {"size": 3, "checksum": f"sha256:{b64encode(of_bytes(b'new').digest()).decode()}"}


@pytest.mark.parametrize(
    ("done", "left", "there", "damage"),
    [
        (True, LEFT, b"new", set()),
        (True, LEFT, body(2), {"altered"}),
        (True, None, None, set()),
        (True, None, body(2), {"restored"}),
        (False, LEFT, body(2), set()),
        (False, LEFT, b"new", {"unerased"}),
        (False, None, None, {"unerased"}),
    ],
)
def test_an_erasure_changes_what_a_file_is(
    export: Export,
    done: bool,  # noqa: FBT001 - a parameter of the test
    left: dict[str, Any] | None,
    there: bytes | None,
    damage: set[str],
) -> None:
    """As `--objects`: a file is what the last completed erasure left of it."""
    erasing(export, done=done, left=left)
    if there is None:
        export.file(2).unlink()
    else:
        export.file(2).write_bytes(there)

    assert findings(export, "--data", str(export.data)) == (set(), damage)


def test_what_is_in_quarantine_is_not_in_the_folder(export: Export) -> None:
    """Nor is a delivery that cannot be read compared: its block is a fault of the chain."""
    blocks = blocks_of(export.chain)
    export.chain = chain_of([*blocks, replace(delivery(8, GENESIS), kind=BlockKind.QUARANTINED)], ONE)
    quarantined = findings(export, "--data", str(export.data))
    export.changed = ("rows: 10", "rows: -1")

    assert quarantined == (set(), set())
    assert findings(export, "--data", str(export.data)) == ({"altered", "schema"}, {"extra"})


def test_a_key_leads_out_of_no_folder(export: Export) -> None:
    """A chain may name anything: what is no object of the line is refused."""
    bad = replace(delivery(5, GENESIS), objects=(LedgerObject(f"accepted/{LINE}/../../x", "v", 1, ""),))
    export.chain = chain_of([*blocks_of(export.chain), bad], ONE)

    assert "what is listed is no object of this dataset" in str(export.verify("--data", str(export.data)).exception)
    assert "is not a folder; `lakegate get" in str(export.verify("--data", str(export.folder / "none")).exception)


def sliced(export: Export, **changes: Any) -> None:
    """One delivery is a slice of two rows, which its block describes, with changes; what arrived is beside it in the lake."""
    path = export.file(5).with_suffix(".parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    times = pa.array([0, 1000], pa.timestamp("ms", "UTC"))
    offsets, ops = pa.array([0, 1], pa.uint64()), pa.array([0, 0], pa.uint8())
    columns = {"offset": offsets, "op": ops, "system_time": times, "event_time": times, "id": pa.array([1, 2])}
    pq.write_table(pa.table(columns), path)
    key = f"accepted/{LINE}/{path.relative_to(export.data).as_posix()}"
    found, checksum = digest_of(path), b64encode(of_bytes(path.read_bytes()).digest()).decode()
    judged = LedgerObject(key, "v1", found.size, f"sha256:{checksum}")
    spans = ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:01.000000Z")
    stated = replace(LedgerSlice(key, 0, 2, spans, found.logical, found.physical), **changes)
    original = replace(judged, key=key.replace("/part-", "/_original/part-"))
    block = replace(delivery(5, GENESIS), objects=(original, judged), slices=(stated,))
    export.chain = chain_of([*blocks_of(lined()), block], ONE)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 3},
        {"logical": f"f9680c00120{7:064x}"},
        {"physical": f"f1620{7:064x}"},
        {"event_time": ("1970-01-01T00:00:00.000000Z",) * 2},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_slice_is_what_its_block_states(export: Export, changes: dict[str, Any]) -> None:
    """Rows, event times and both hashes are those of the file, whose size and checksum alone would be as recorded."""
    sliced(export)
    good = findings(export, "--data", str(export.data))
    sliced(export, **changes)

    assert good == (set(), set())
    assert findings(export, "--data", str(export.data)) == (set(), {"altered"})


def test_rejected_rows_are_no_data_of_the_line(export: Export) -> None:
    """A delivery whose bad rows were kept apart has an object in quarantine, which nobody downloads."""
    *others, last = blocks_of(export.chain)
    (accepted,) = last.objects
    rejected = replace(accepted, key=accepted.key.replace("accepted/", "quarantine/", 1))
    export.chain = chain_of([*others, replace(last, objects=(accepted, rejected))], ONE)

    assert findings(export, "--data", str(export.data)) == (set(), set())


def test_an_object_that_is_no_slice_is_found(export: Export) -> None:
    """A block may list any object as a slice: what is no Parquet is altered, and no error."""
    csv = blocks_of(export.chain)[4]
    key = csv.objects[0].key
    stated = LedgerSlice(key, 0, 2, ("1970-01-01T00:00:00.000000Z",) * 2, "f1", "f2")
    export.chain = chain_of([*blocks_of(export.chain)[:4], replace(csv, slices=(stated,))], ONE)

    assert findings(export, "--data", str(export.data)) == (set(), {"altered"})


def test_a_download_is_compared_with_the_chain_of_its_stack(lakegate: Lakegate, tmp_path: Path) -> None:
    """What `lakegate get` brought is intact; a changed byte is found."""
    lakegate.routed()
    lakegate.delivered()
    folder = tmp_path / "copy"
    lakegate.ok("get", "orders_v1", str(folder))
    good = lakegate.ok("verify", "orders_v1", "--data", str(folder))
    (path,) = folder.rglob("*.csv")
    path.write_bytes(path.read_bytes().replace(b"a,1", b"a,2"))
    bad = lakegate("verify", "orders_v1", "--data", str(folder))

    assert "1 file compared with the chain: size and checksum of each are as recorded; no file is extra." in good
    assert (bad.exit_code, "altered: ingest_date=" in bad.stdout) == (1, True)
    assert "give one of them" in str(lakegate("verify", "orders_v1", "--objects", "--data", str(folder)).exception)

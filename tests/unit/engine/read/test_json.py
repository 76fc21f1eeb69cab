"""JSON as the engine reads it: each token, wherever a share is cut, on the short way and on the long one."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.engine.read import json as json_module
from lakegate.engine.read.json import SHARE_BYTES, learn_keys
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of
from tests.deliveries.written import packed
from tests.unit.engine.read.opened import opened, read, read_all
from tests.unit.rules.test_nested_fields import nested_plan

FIELDS = {"id": "integer", "name": "string", "ok": "boolean", "share": "number"}
LINES = [
    b'{"id": 1, "name": "Ana", "ok": true, "share": 0.5}',
    b'{"id": "2", "name": 3, "ok": "true", "share": 1e400}',
    b'{"share": null, "id": null}',
    b"",
    b'{"id": 4, "id": 4}',
    b'{"id": 5.0, "name": "a\\u00e7\\n", "ok": false, "share": -0}',
    b'{"id": 06}',
    b"[1]",
    b'{"name": "\xff"}',
    b'{"id": 7, "more": 1, "x": {"y": [1]}}\r',
    b'{"name": {"a": 1}, "share": [1]}',
]
TEXTS = [
    {"id": "1", "name": "Ana", "ok": "true", "share": "0.5"},
    {"id": "2", "name": "3", "ok": "true", "share": "1e400"},
    dict.fromkeys(FIELDS),
    {"id": "5.0", "name": "aç\n", "ok": "false", "share": "-0"},
    {"id": "7", "name": None, "ok": None, "share": None},
    {"id": None, "name": "{...}", "ok": None, "share": "[...]"},
]
VALUES = [
    {"id": 1, "name": "Ana", "ok": True, "share": 0.5},
    dict.fromkeys(FIELDS),
    dict.fromkeys(FIELDS),
    {"id": None, "name": "aç\n", "ok": False, "share": 0.0},
    {"id": 7, "name": None, "ok": None, "share": None},
    dict.fromkeys(FIELDS),
]
ROWS = [(0, at) for at in (0, 1, 2, 5, 9, 10)]
MALFORMED = {("keys", 1, 4), ("json", 1, 6), ("object", 1, 7), ("encoding", 1, 8)}


def plan(codec: Compression = Compression.NONE, form: Format = Format.JSONL, **fields: str) -> Plan:
    return replace(plan_of(fields or FIELDS), storage=Storage(form, codec))


@pytest.mark.parametrize("codec", Compression)
def test_every_token_is_judged_and_every_byte_accounted_for(codec: Compression, tmp_path: Path) -> None:
    """Values are tokens of their field's own kind; malformed lines are counted, with the first of each kind."""
    content = packed(b"\n".join(LINES) + b"\n", codec)
    found = read(plan(codec), tmp_path, content)

    assert (found.texts, found.values, found.rows) == (TEXTS, VALUES, ROWS)
    assert set(found.malformed) == MALFORMED
    assert (found.lines, found.sizes, found.extra) == ({0: 11}, {0: len(content)}, {"more", "x"})


def test_elements_of_an_array_are_records(tmp_path: Path) -> None:
    """Wherever they stand in the text; what is not an object is malformed."""
    content = b'[ {"id": 1,\n"name": "a"},{"id":2}\n, [\n{"id": 3}\n] , {"id": 4, "id": 4}]\n'
    found = read(plan(form=Format.JSON), tmp_path, content)

    assert [row["id"] for row in found.texts] == ["1", "2"]
    assert (set(found.malformed), found.lines) == ({("object", 1, 2), ("keys", 1, 3)}, {0: 4})
    assert found.sizes == {0: len(content)}


@pytest.mark.parametrize("codec", Compression)
def test_elements_of_an_array_in_an_object_are_records(codec: Compression, tmp_path: Path) -> None:
    """As those of an array: what stands beside it, also under the same names, is none."""
    content = (
        b'\xef\xbb\xbf{"id": 0, "meta": [{"id": 9}], "result": {"items": '
        b'[{"id": 1,\n"name": "a"},{"id":2}, [3]], "more": {"items": [1]}}, "items": []}\n'
    )
    storage = Storage(Format.JSON, codec, "result.items")
    found = read(replace(plan(), storage=storage), tmp_path, packed(content, codec))

    assert [row["id"] for row in found.texts] == ["1", "2"]
    assert (set(found.malformed), found.lines) == ({("object", 1, 2)}, {0: 3})


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("share", [1, 50, 51, 52, 1000])
def test_a_line_is_read_by_the_share_in_which_it_begins(
    codec: Compression, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an object is cut, however little is read at a time: the same records, each line once."""
    monkeypatch.setattr(json_module, "SHARE_BYTES", share)
    for piece in (1, 64, 4096):
        for end in (b"", b"\n"):
            monkeypatch.setattr("lakegate.engine.read.compressed_streams.PIECE", piece)
            monkeypatch.setattr("lakegate.engine.read.text_source._FIRST_STEP", piece)
            content = packed(b"\n".join(LINES) + end, codec)
            found = read(plan(codec), tmp_path, content)

            assert (found.texts, found.values, found.rows) == (TEXTS, VALUES, ROWS)
            assert (found.lines, found.sizes) == ({0: 11}, {0: len(content)})
            assert {(reason, first) for reason, _, first in found.malformed} == {(why, at) for why, _, at in MALFORMED}


def test_objects_of_a_delivery_are_read_one_after_the_other(tmp_path: Path) -> None:
    """Rows are identified by part and line."""
    found = read(plan(), tmp_path, LINES[0] + b"\n", LINES[1])

    assert (found.rows, found.lines) == ([(0, 0), (1, 0)], {0: 1, 1: 1})


@pytest.mark.parametrize("share", [1 << 16, SHARE_BYTES])
def test_a_line_that_is_no_record_of_anyone_ends_the_reading(
    share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 1 MiB is a malformed record, 16 MiB are an unreadable file, unless it is packed."""
    monkeypatch.setattr(json_module, "SHARE_BYTES", share)
    long = b'{"id": 1, "name": "%s"}\n'
    found = read(plan(), tmp_path, b'{"id": 1}\n' + long % (b"x" * (1 << 20)) + b'{"id": 2}\n')

    assert [row["id"] for row in found.texts] == ["1", "2"]
    assert found.malformed == [("too_long", 1, 1)]
    with pytest.raises(UnreadableError) as refused:
        read(plan(), tmp_path, b'{"id": 1}\n' + long % (b"x" * (16 << 20)) + b'{"id": 2}\n')
    assert refused.value.finding.code == "too-long"
    beyond = packed(b'{"id": 1}\n' + long % (b"x" * (17 << 20)) + b'{"id": 2}\n', Compression.GZIP)
    assert read(plan(Compression.GZIP), tmp_path, beyond).malformed == [("too_long", 1, 1)]


BROKEN = {
    "damaged": (Format.JSONL, Compression.GZIP, packed(b'{"id": 1}\n' * 100_000, Compression.GZIP)[:-9]),
    "bomb": (Format.JSONL, Compression.GZIP, packed(b'{"id": 1}' + b" " * (80 << 20), Compression.GZIP)),
    "array": (Format.JSON, Compression.NONE, b'[{"id": 1}'),
    "array-encoding": (Format.JSON, Compression.NONE, b'[{"id": "\xff"}]'),
    "array-depth": (Format.JSON, Compression.NONE, b"[" * 100_000),
}


@pytest.mark.parametrize("code", BROKEN)
def test_an_object_without_a_good_end_is_unreadable(code: str, tmp_path: Path) -> None:
    """Cut off, damaged, a bomb: by its code."""
    form, codec, content = BROKEN[code]

    with pytest.raises(UnreadableError) as refused:
        read(plan(codec, form), tmp_path, content)

    assert refused.value.finding.code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"rows": []}', "no-records"),
        (b'{"data": [{"id": 1}]', "records"),
        (b"[]", "json-array"),
        (b" \n", "not-json"),
        (b"", "empty"),
    ],
)
def test_an_object_without_its_records_is_unreadable(content: bytes, code: str, tmp_path: Path) -> None:
    """Each with the words for it."""
    with pytest.raises(UnreadableError) as refused:
        read(replace(plan(), storage=Storage(Format.JSON, records="data")), tmp_path, content)

    assert refused.value.finding.code == code
    assert "data" in refused.value.finding.message or code == "records"


def random_line(random: random.Random) -> bytes:
    """A line that is often of the usual kind."""
    values: list[Any] = [
        1,
        -0.0,
        1e10,
        "a",
        "",
        "null",
        "tru\u00e9",
        'q"',
        None,
        True,
        False,
        {},
        [1],
        10**30,
        "\u2028",
        "\x7f",
    ]
    names = [*FIELDS, "more"] if random.random() < 0.9 else ["share", "id", "other key", "ok"]
    kept = [name for name in names if random.random() < 0.9]
    usual = random.random() < 0.6
    record = {name: random.choice(values[:-8] if usual else values) for name in kept}
    text = json.dumps(
        record, ensure_ascii=random.random() < 0.2, separators=random.choice([(", ", ": "), (",", ":")])
    ).encode()
    if random.random() < 0.1:
        at = random.randrange(len(text) + 1)
        text = (
            text[:at]
            + random.choice([b",", b'"', b"{", b" ", b"\xff", b"0", b"\\", b"\t"])
            + text[at + random.randrange(2) :]
        )
    return text


@pytest.mark.parametrize("seed", range(40))
def test_the_short_way_gives_the_answers_of_the_long_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For usual lines and odd ones, in any mixture."""
    chance = random.Random(seed)
    odd = chance.choice([0.0, 0.02, 0.5])
    usual = b'{"id": 1, "name": "x", "ok": true, "share": 1.5, "more": 1}'
    content = b"\n".join(usual if chance.random() > odd else random_line(chance) for _ in range(200))
    short = read_all(plan(), opened(plan(), tmp_path, content))
    monkeypatch.setattr(json_module, "learn_keys", lambda *_: None)

    assert read_all(plan(), opened(plan(), tmp_path, content)) == short


def test_usual_lines_go_the_short_way() -> None:
    """Or nothing was gained: also lines that lack some keys, have more than the declared ones, or end in CR."""
    texts = [
        b'{"id": 1, "name": "x"}',
        b'{"id":2,"more":null,"name":"y"}\r',
        b'{"name": "z"}',
        b"{}",
        b'{"name": "\xc3\xa9"}',
    ]
    flat = learn_keys(plan().fields, texts)

    assert flat is not None
    assert flat.split(texts) == (
        [("1", "", '"x"'), ("2", "null", '"y"'), ("", "", '"z"'), ("", "", ""), ("", "", '"é"')],
        [],
    )


def test_objects_with_parts_go_the_long_way() -> None:
    """The expression finds tokens alone."""
    assert learn_keys(plan().fields, [b'{"id": 1}', b'{"id": {}}']) is None
    assert learn_keys(plan().fields, [b"", b"nothing"]) is None


@pytest.mark.parametrize("form", [Format.JSONL, Format.JSON])
def test_a_chunk_has_few_cells_however_little_its_records_hold(
    form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absent fields and elements count: a chunk ends before it has many of them, or after the record that has them."""
    monkeypatch.setattr(json_module, "MAX_CELLS", 60)
    empty, many = b'{"id": 1}', b'{"items": [' + b",".join([b"{}"] * 30) + b"]}"
    records = [empty, b"{}", many, many, *[b"{}"] * 90, many]
    content = b"\n".join(records) if form is Format.JSONL else b"[" + b",".join(records) + b"]"
    nested = replace(nested_plan(), storage=Storage(form))
    source = opened(nested, tmp_path, content)

    chunks = [chunk for share in source.shares for chunk in source.chunks(share)]

    of_records = len([each for each in nested.fields if not each.level])
    for chunk in chunks:
        elements = sum(table.num_rows for table in chunk.levels.values())
        assert chunk.records.num_rows * of_records <= 60
        assert elements in {0, 30}
    assert sum(chunk.records.num_rows for chunk in chunks) == len(records)
    assert (sum(chunk.size for chunk in chunks), sum(chunk.lines for chunk in chunks)) == (len(content), len(records))


def test_many_undeclared_keys_take_no_longer_than_their_number(tmp_path: Path) -> None:
    """Of one record, and of many records with keys of their own; some are kept."""
    one = b'{"id": 1, ' + b", ".join(b'"k%d": 1' % at for at in range(50_000)) + b"}"
    many = b"\n".join(
        b'{"id": 1, ' + b", ".join(b'"k%d-%d": 1' % (row, at) for at in range(250)) + b"}" for row in range(200)
    )
    began = time.process_time()

    found = [read(plan(id="integer"), tmp_path, content).extra for content in (one, many)]

    assert [len(each) for each in found] == [200, 200]
    assert time.process_time() - began < 20

"""A record is read as if it were alone: what stands beside it in a block changes neither its values nor its reason."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of
from tests.reference.sampling import sampled
from tests.unit.engine.read.opened import read

Outcome = tuple[Any, ...]
"""Texts and values of a record, or the reason why it is none; nothing of a blank line."""
FIELDS = {"id": "integer", "name": "string", "share": "number"}
CSV_LINES = [
    *(b"1,a,0.5", b"2,,", b",,", b'3,"a,b",1e400', b'4,"a""b",-0', b"x,a,1", b"5,a", b"6,a,1,2", b"", b" ", b'7,"a'),
    *(
        b'8,a"b,1',
        b"9,\x00,1",
        b"10,\xff,1",
        b"11,\xef\xbf\xbd,1",
        b"12,\xc3\xa9,1",
        b"13,\x80,1",
        b"14,a,1\r",
        b"15,a\rb,1",
    ),
    b"16," + b"a" * (1 << 20) + b",1",
]
JSON_LINES = [
    *(b'{"id": 1, "name": "a", "share": 0.5}', b'{"id": "2", "name": 3}', b'{"share": null}', b"", b" ", b"{}"),
    *(b'{"id": 4, "id": 4}', b'{"id": 06}', b"[1]", b"null", b'{"name": "\xff"}', b'{"name": "\xef\xbf\xbd"}'),
    *(
        b'{"name": "\\ud800"}',
        b'{"name": "\\ufffd"}',
        b'{"id": 7, "more": {"y": [1]}}\r',
        b'{"name": {"a": 1}, "share": [1]}',
    ),
    *(b'{"id": 1}{"id": 2}', b'{"id": 1,}', b'{"id": 1e400}', b'{"name": "a\x00"}', b'{"name": "a', b"\x1e{}"),
]
PLANS: dict[str, tuple[Plan, list[bytes]]] = {
    **{
        encoding: (replace(plan_of(FIELDS), csv=Csv(encoding=encoding, header=False)), CSV_LINES)
        for encoding in ("utf-8", "windows-1252", "iso-8859-1", "us-ascii")
    },
    "json lines": (replace(plan_of(FIELDS), storage=Storage(Format.JSONL)), JSON_LINES),
}


def outcomes(form: str, lines: list[bytes]) -> list[Outcome]:
    """Of each line, by its place."""
    plan, _ = PLANS[form]
    with TemporaryDirectory() as folder:
        found = read(plan, Path(folder), b"".join(line + b"\n" for line in lines))
    by_line: dict[int, Outcome] = {
        line: (text, value) for (_, line), text, value in zip(found.rows, found.texts, found.values, strict=True)
    }
    for reason, at in found.malformed_lines:
        by_line[at] = (reason,)
    return [by_line.get(at, ()) for at in range(len(lines))]


@cache
def outcome_alone(form: str, line: bytes) -> Outcome:
    """Between two good records, because a file must have one."""
    good = PLANS[form][1][0]
    return outcomes(form, [good, line, good])[1]


@pytest.mark.parametrize("form", PLANS)
def test_every_line_has_its_outcome_beside_every_other_one(form: str) -> None:
    """All of them in one block, and in the opposite order behind a good one."""
    good, *others = PLANS[form][1]
    for lines in ([good, *others], [good, *others[::-1]]):
        assert outcomes(form, lines) == [outcome_alone(form, line) for line in lines]


@pytest.mark.parametrize("form", PLANS)
@sampled(20, 500)
@given(data=st.data())
def test_a_line_is_read_as_if_it_were_alone(form: str, data: st.DataObject) -> None:
    """Any lines in any order, with repetitions."""
    good, *others = PLANS[form][1]
    lines = [good, *data.draw(st.lists(st.sampled_from([each for each in others if len(each) < 100]), max_size=8))]

    assert outcomes(form, lines) == [outcome_alone(form, line) for line in lines]

"""Odd keys and odd objects: each ends in a verdict with a reason, and never in silence."""

from __future__ import annotations

import pytest

from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import Address
from tests.e2e.deployed import Deployed

ODD = (
    "with space.csv",
    "plus+and%25percent.csv",
    "100%.csv",
    "quote'and\"double.csv",
    "back\\slash.csv",
    "a/../b.csv",
    "./dot.csv",
    "brackets[x]{y}.csv",
    "_hidden.csv",
    ".dot.csv",
    "ünïcödé-文件.csv",
    "tab\tline\n.csv",
    "semi;colon&amp?query=1#frag.csv",
    "no-suffix",
    "é" * 500,
)


def longest(prefix: str) -> str:
    """A key of 1,024 bytes of UTF-8, its letters of three bytes each."""
    room = 1024 - len(prefix.encode())
    return prefix + "文" * (room // 3) + "x" * (room % 3)


def test_a_good_file_is_judged_whatever_it_is_called(stack: Deployed) -> None:
    """Names mean nothing: below a routed prefix the contract decides, and the destination carries no such name."""
    landed = {name: stack.upload(stack.fresh(), f"shop/{name}") for name in (*ODD, longest("shop/")[5:])}
    rows = {name: stack.finished(each) for name, each in landed.items()}

    assert dict.fromkeys(landed, State.PUBLISHED) == {name: row.state for name, row in rows.items()}
    assert dict.fromkeys(landed, 1) == {name: len(stack.destinations(row)) for name, row in rows.items()}


def test_an_odd_key_that_no_route_covers_is_quarantined_with_its_reason(stack: Deployed) -> None:
    """Unknown keys of every kind are quarantined, each with the reason `unrouted`."""
    keys = [*(f"unknown/{name}" for name in ODD), longest("unknown/"), "at-the-top.csv", "shop", "shopping/x.csv", "/"]
    landed = {key: stack.upload(f"of {key}".encode(), key) for key in keys}
    rows = {key: stack.finished(each) for key, each in landed.items()}

    assert dict.fromkeys(keys, (State.QUARANTINED, ("unrouted",))) == {
        key: (row.state, row.decision and row.decision.reasons) for key, row in rows.items()
    }


@pytest.mark.parametrize(
    ("key", "body", "reason"),
    [
        ("shop/empty.csv", b"", "file/rows: the object is empty"),
        ("shop/archive.csv", b"PK\x03\x04 and more", "file/readable: the file is a zip archive"),
        ("shop/other.csv", b"a,b\n1,2\n", "file/readable: the first line names none of the declared columns"),
        ("shop/lacking.csv", b"id\n1\n", "cause/missing-columns: the file has no column name: deliver it"),
        (
            "rows/large.csv",
            b"id,name\n" + b"1,anna\n" * 200,
            "file/size: the object has 1,408 bytes, the contract allows",
        ),
    ],
)
def test_what_can_be_no_delivery_is_refused_at_the_door(stack: Deployed, key: str, body: bytes, reason: str) -> None:
    """An empty file, another format, a wrong header and a file too large cost no job run."""
    landed = stack.upload(body, key)
    row = stack.finished(landed)

    assert row.decision is not None
    assert row.decision.reasons[0].startswith(reason)
    assert (row.state, row.attempt, stack.runs(landed)) == (State.QUARANTINED, 0, [])


def test_what_spark_writes_beside_its_part_files_is_no_delivery(stack: Deployed) -> None:
    """A Spark writer delivers: its part files are judged, everything beside them is neither claimed nor removed."""
    beside = ["shop/", "shop/table/", "shop/table/_SUCCESS", "shop/table/_temporary/0/part-00000.csv"]
    landed = [stack.upload(b"" if key.endswith(("/", "_SUCCESS")) else stack.fresh(), key) for key in beside]
    part = stack.finished(stack.upload(stack.fresh(), "shop/table/part-00000.csv"))
    stack.sweep()
    objects, landing = stack.dependencies.objects, stack.dependencies.places.landing

    assert part.state is State.PUBLISHED
    assert [stack.row(each) for each in landed] == [None] * len(landed)
    assert [objects.head(Address(landing, each.key, each.version)).size for each in landed] == [
        len(each.body) for each in landed
    ]


def test_the_same_content_again_is_refused_until_it_is_another(stack: Deployed) -> None:
    """A duplicate is refused at the door, under any key; a corrected file under the same key is a delivery of its own."""
    first = stack.upload(stack.fresh())
    stack.finished(first)
    again = stack.finished(stack.upload(first.body, first.key))
    elsewhere = stack.finished(stack.upload(first.body))
    corrected = stack.finished(stack.upload(stack.fresh(), first.key))

    assert again.decision is not None
    assert again.decision.reasons == ("duplicate-content",)
    assert (again.state, elsewhere.state, corrected.state) == (State.QUARANTINED, State.QUARANTINED, State.PUBLISHED)

"""With onReject: rows, good rows go on and bad ones are kept apart, and none is lost."""

from __future__ import annotations

import bz2
import csv
import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.gate import lake_layout
from lakegate.plan.result import WrittenObject
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import packed

pytestmark = pytest.mark.spark

DATA_NAME = re.compile(r"^part-[0-9]{5}-[0-9a-f-]{36}-c000")
BY_ROWS = Policy(on_reject=OnReject.ROWS)
DELIVERY = rb'''id,amount,note
1,10,good
2,-1,negative
3,x,"no, number"
4,20,twice
4,21,twice
5,30,too,many
6,40,"said ""yes"""
'''


def test_the_two_shares_hold_every_record_once(judge_files: Callable[..., Judged]) -> None:
    """Accepted rows come out as they went in, rejected ones behind their reasons; each share is listed with its digest."""
    plan = plan_of(
        {"id": "integer", "amount": "integer", "note": "string"},
        rule("minimum", "amount", value=0),
        rule("unique", "id"),
        policy=BY_ROWS,
    )
    judged = judge_files(plan, DELIVERY)
    shares = judged.result.shares
    assert shares is not None

    assert judged.verdict == Verdict.ACCEPTED_WITH_WARNINGS
    assert (judged.result.rows, judged.result.rejected_rows) == (7, 5)
    assert _lines(shares.accepted) == ["id,amount,note", "1,10,good", '6,40,"said ""yes"""']
    assert list(csv.reader(_lines(shares.rejected))) == [
        ["_reasons", "id", "amount", "note"],
        ["minimum/amount", "2", "-1", "negative"],
        ["type-1/amount", "3", "x", "no, number"],
        ["unique/id", "4", "20", "twice"],
        ["unique/id", "4", "21", "twice"],
        ["file/records", "5", "30", "too", "many"],
    ]
    assert [_digest(each) for each in shares.accepted] == [each.etag for each in shares.accepted]


@pytest.mark.parametrize(
    ("storage", "body", "ending"),
    [
        (Storage(), b"n\n1\nx\n", ".csv"),
        (Storage(Format.CSV, Compression.GZIP), gzip.compress(b"n\n1\nx\n", mtime=0), ".csv.gz"),
        (Storage(Format.CSV, Compression.BZIP2), bz2.compress(b"n\n1\nx\n"), ".csv.bz2"),
        (Storage(Format.JSONL), b'{"n": 1}\n{"n": "x"}\n', ".jsonl"),
    ],
)
def test_shares_end_as_their_format_does(
    judge_files: Callable[..., Judged], storage: Storage, body: bytes, ending: str
) -> None:
    """Both shares have the ending of the delivery's format, by which readers find them; their names are unique."""
    plan = replace(plan_of({"n": "integer"}, policy=BY_ROWS), storage=storage)
    shares = judge_files(plan, body).result.shares
    assert shares is not None

    names = [each.uri.rpartition("/")[2] for each in (*shares.accepted, *shares.rejected)]
    assert [DATA_NAME.sub("NAME", name) for name in names] == [f"NAME{ending}"] * 2
    assert all(lake_layout.DATA.fullmatch(name) for name in names)


def test_a_delivery_without_bad_rows_is_not_split(judge_files: Callable[..., Judged]) -> None:
    """Where nothing is refused, the object itself is published: there are no shares."""
    plan = plan_of({"id": "integer"}, policy=BY_ROWS)

    assert judge_files(plan, b"id\n1\n2\n").result.shares is None


def test_without_a_header_none_is_invented(judge_files: Callable[..., Judged]) -> None:
    """Shares of a file without a header have none either."""
    plan = plan_of({"id": "integer", "n": "integer"}, csv=Csv(header=False), policy=BY_ROWS)
    shares = judge_files(plan, b"1,1\nx,2\n").result.shares
    assert shares is not None

    assert (_lines(shares.accepted), _lines(shares.rejected)) == (["1,1"], ['"type-0/id",x,2'])


def test_lines_are_written_as_they_came(judge_files: Callable[..., Judged]) -> None:
    """In the encoding of the delivery, header and reasons too; bytes that it does not have are kept, and rejected."""
    plan = plan_of(
        {"stra\u00dfe": "string", "gr\u00f6\u00dfe": "integer"},
        csv=Csv(delimiter=";", encoding="windows-1252"),
        policy=BY_ROWS,
    )
    body = "stra\u00dfe;gr\u00f6\u00dfe\nM\u00fchlweg \u20ac;1\n\u00d6lgasse;x\n".encode("windows-1252") + b"\x81;2\n"
    shares = judge_files(plan, body).result.shares
    assert shares is not None

    accepted, rejected = (b"".join(map(_bytes, each)) for each in (shares.accepted, shares.rejected))
    assert accepted == "stra\u00dfe;gr\u00f6\u00dfe\nM\u00fchlweg \u20ac;1\n".encode("windows-1252")
    assert rejected == (
        '_reasons;stra\u00dfe;gr\u00f6\u00dfe\n"type-1/gr\u00f6\u00dfe";\u00d6lgasse;x\n"file/records";'.encode(
            "windows-1252"
        )
        + b"\x81;2\n"
    )


def test_records_end_in_lf_and_marks_and_blank_lines_are_left_out(judge_files: Callable[..., Judged]) -> None:
    """Of objects that differ in their line ends, too; a CRLF within a value is one of its characters."""
    plan = plan_of({"n": "integer", "t": "string"}, csv=Csv(multi_line=True), policy=BY_ROWS)
    first = b'\xef\xbb\xbfn,t\r\n1,"a\r\nb"\r\n\r\nx,c\r\n'
    shares = judge_files(plan, first, b'n,t\n2,"d\ne"\ny,f').result.shares
    assert shares is not None

    accepted, rejected = (list(map(_bytes, part)) for part in (shares.accepted, shares.rejected))
    assert b"".join(part.removeprefix(b"n,t\n") for part in accepted) == b'1,"a\r\nb"\n2,"d\ne"\n'
    assert b"".join(part.removeprefix(b"_reasons,n,t\n") for part in rejected) == b'"type-0/n",x,c\n"type-0/n",y,f\n'


def test_a_carriage_return_behind_json_stays(judge_files: Callable[..., Judged]) -> None:
    """It is white space of the text; a byte order mark and blank lines are left out."""
    plan = replace(plan_of({"n": "integer"}, policy=BY_ROWS), storage=Storage(Format.JSONL))
    shares = judge_files(plan, b'\xef\xbb\xbf{"n": 1}\r\n\r\n{"n": "x"}\r\n').result.shares
    assert shares is not None

    accepted, rejected = (b"".join(map(_bytes, part)) for part in (shares.accepted, shares.rejected))
    assert accepted == b'{"n": 1}\r\n'
    assert rejected == b'{"_reasons":"type-0/n","_record":{"n": "x"}\r}\n'


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("multi_line", [False, True])
def test_lines_above_the_header_stand_above_both_parts(
    judge_files: Callable[..., Judged],
    codec: Compression,
    multi_line: bool,  # noqa: FBT001 - drawn
) -> None:
    """Those of the first object, with line feeds at their ends; each part is read under the same contract."""
    csv = Csv(delimiter=";", encoding="windows-1252", skip_rows=2, multi_line=multi_line)
    plan = plan_of({"n": "integer", "gr\u00f6\u00dfe": "string"}, csv=csv, policy=BY_ROWS)
    plan = replace(plan, storage=Storage(compression=codec))
    titles, header = '"Liste f\u00fcr \u20ac\n\n'.encode("windows-1252"), "n;gr\u00f6\u00dfe\n".encode("windows-1252")
    first = (titles + header).replace(b"\n", b"\r\n") + b"1;a\r\nx;\xe4\r\n"
    second = b"Other\x81\n;\n" + header + b"2;b\ny;c\n"
    judged = judge_files(plan, packed(first, codec), packed(second, codec))
    shares = judged.result.shares
    assert shares is not None

    accepted, rejected = (
        [gzip.decompress(_bytes(each)) if codec is Compression.GZIP else _bytes(each) for each in part]
        for part in (shares.accepted, shares.rejected)
    )
    assert b"".join(part.removeprefix(titles + header) for part in accepted) == b"1;a\n2;b\n"
    assert all(part.startswith(titles + header) for part in accepted)
    assert b"".join(part.removeprefix(titles + b"_reasons;" + header) for part in rejected) == (
        b'"type-0/n";x;\xe4\n"type-0/n";y;c\n'
    )
    assert all(part.startswith(titles + b"_reasons;" + header) for part in rejected)
    assert [sample.row for measured in judged.result.measurements for sample in measured.samples] == [5, 5]
    again = judge_files(plan, *map(_bytes, shares.accepted))
    assert (again.verdict, again.result.rows) == (Verdict.ACCEPTED, 2)


def test_a_share_of_bad_rows_above_the_limit_rejects(judge_files: Callable[..., Judged]) -> None:
    """MaxRejectedShare bounds what may be refused by rows; above it the whole delivery is rejected."""
    plan = plan_of({"id": "integer", "n": "integer"}, policy=replace(BY_ROWS, max_rejected_share=Decimal(0)))

    assert judge_files(plan, b"id,n\n1,1\nx,2\n").verdict == Verdict.REJECTED


def test_a_row_that_a_pattern_refuses_is_set_aside(judge_files: Callable[..., Judged]) -> None:
    """The rows that a pattern counts are the rejected ones, and the samples show them."""
    email = rule("pattern", "a", pattern=r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$")
    judged = judge_files(
        plan_of({"number": "integer", "a": "string"}, email, policy=BY_ROWS),
        b"number,a\n1,ana@example.org\n2,nobody\n3,\n4,a@b\n",
    )
    shares = judged.result.shares
    assert shares is not None

    assert (judged.verdict, judged.result.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 2)
    assert _lines(shares.accepted) == ["number,a", "1,ana@example.org", "3,"]
    assert _lines(shares.rejected) == ["_reasons,number,a", '"pattern/a",2,nobody', '"pattern/a",4,a@b']
    samples = [(each.row, each.shapes) for each in judged.result.measurements[2].samples]
    assert samples == [(3, ("aaaaaa",)), (5, ("a@a",))]


def _lines(written: tuple[WrittenObject, ...]) -> list[str]:
    return [line for each in written for line in _bytes(each).decode().splitlines()]


def _bytes(written: WrittenObject) -> bytes:
    return Path(urlsplit(written.uri).path).read_bytes()


def _digest(written: WrittenObject) -> str:
    return sha256(_bytes(written)).hexdigest()

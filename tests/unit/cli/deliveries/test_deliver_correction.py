"""`lakegate deliver --corrects`: from the reasons of a rejected delivery to the delivery that corrects it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import CORRECTS, Address
from lakegate.plan.result import Shares, WrittenObject
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deliveries.test_upload_command import meanwhile
from tests.unit.cli.deployed_stack import LAKE, LANDING

BAD: dict[str, Any] = {"failing": 1, "body": b"id,amount\n,1\nb,2\nc,3\nd,4\n", "name": "bad.csv"}
FIXED = b"id,amount\na,1\nb,2\nc,3\nd,4\n"
HELPERS = "_row,_part,_reasons,id,amount\n"
BY_ROWS = {"schema:\n": "customProperties: [{property: lakegate, value: {onReject: rows}}]\nschema:\n"}


def landed(lakegate: Lakegate, key: str = "orders/bad.csv") -> tuple[bytes, dict[str, str]]:
    """Bytes and metadata of the object in the landing bucket."""
    found = lakegate.clients["s3"].get_object(Bucket=LANDING, Key=key)
    return found["Body"].read(), found["Metadata"]


@pytest.fixture
def rejected(lakegate: Lakegate) -> str:
    """The workload of a delivery with a row that fails."""
    lakegate.routed()
    return lakegate.delivered(**BAD)


def fixed(tmp_path: Path, text: str = f"{HELPERS}2,0,,a,1\n") -> str:
    (tmp_path / "bad.csv").write_text(text)
    return str(tmp_path / "bad.csv")


def test_the_commands_of_the_loop_lead_to_each_other(lakegate: Lakegate, rejected: str, tmp_path: Path) -> None:
    """Reasons name the file and what to do with it; what it wrote is corrected and delivered under the same key."""
    reasons = lakegate.ok("reasons", rejected).splitlines()
    rows = tmp_path / "bad.csv"
    written = lakegate.ok("reasons", rejected, "--rows", str(rows)).splitlines()
    others = [
        lakegate.ok("reasons", rejected, "--rows", str(tmp_path / name)).splitlines()[-2:]
        for name in ("bad.excel.csv", "bad.parquet")
    ]
    rows.write_text(rows.read_text().replace('",,1', '",a,1'))
    result = lakegate.ok("deliver", "--corrects", "orders/bad.csv", str(rows))

    following = [
        f"Next: lakegate reasons {rejected[:12]} --rows bad1.csv",  # not over the file that was delivered
        f"Corrected: lakegate deliver --corrects {rejected[:12]} bad1.csv",
    ]
    assert [reasons[-2:], *others] == [following] * 3
    assert written[-1] == f"Corrected: lakegate deliver --corrects {rejected[:12]} {rows}"
    assert landed(lakegate) == (FIXED, {"lakegate-corrects": rejected})
    assert result.startswith(f"1 corrected row, to orders/bad.csv: it corrects {rejected[:12]}\n  workload ")


def test_ledger_and_status_join_the_two(lakegate: Lakegate, rejected: str, tmp_path: Path) -> None:
    """The block of the correction names the rejected delivery, and `status` and `log` show it."""
    made = lakegate.json("deliver", "--corrects", rejected, fixed(tmp_path))
    lakegate.intake("orders/bad.csv")
    lakegate.answer(made["workload"])
    block = lakegate.dependencies.ledger.block("shop/orders_v1", 1)

    assert isinstance(block, Block)
    assert (block.workload, block.verdict, block.corrects) == (made["workload"], "accepted", rejected)
    assert lakegate.json("status", made["workload"])["corrects"] == rejected
    assert f"corrects  {rejected}" in lakegate.ok("status", made["workload"])
    assert "corrects" not in lakegate.json("status", rejected)
    assert f"corrects {rejected[:12]}" in lakegate.ok("log", "orders")
    by = {"workload": block.workload, "height": 1, "at": block.system_time}
    words = f"by the delivery {block.workload[:12]} of {block.system_time[:10]} (height 1)"
    assert "corrected_by" not in lakegate.json("status", made["workload"])
    assert lakegate.json("status", rejected)["corrected_by"] == by
    assert lakegate.json("reasons", rejected)["corrected_by"] == by
    assert f"corrected  {words}" in lakegate.ok("status", rejected)
    assert lakegate.ok("reasons", rejected).splitlines()[-1] == f"Corrected: {words}"


def test_a_second_correction_counts_the_rows_twice_and_is_refused(
    lakegate: Lakegate, rejected: str, tmp_path: Path
) -> None:
    """Until the first one is recalled; one that was rejected is none."""
    bad = lakegate.json("deliver", "--corrects", rejected, fixed(tmp_path, f"{HELPERS}2,0,,x,1\n"))["workload"]
    lakegate.intake("orders/bad.csv")
    lakegate.answer(bad, 1)
    first = lakegate.json("deliver", "--corrects", rejected, fixed(tmp_path))["workload"]
    lakegate.intake("orders/bad.csv")
    lakegate.answer(first)
    other = fixed(tmp_path, f"{HELPERS}2,0,,b,1\n")
    second = lakegate("deliver", "--corrects", rejected, other)
    sent = lakegate.clients["s3"].list_objects_v2(Bucket=LANDING).get("Contents", [])
    again = lakegate.json("deliver", "--corrects", rejected, other, "--again")
    lakegate.ok("recall", first, "--reason", "wrong")
    after = lakegate.json("deliver", "--corrects", rejected, other)

    block = lakegate.dependencies.ledger.block("shop/orders_v1", 2)
    assert isinstance(block, Block)
    by = f"{first[:12]} of {block.system_time[:10]} (height 2)"
    assert str(second.exception) == (
        f"orders/bad.csv is corrected by the delivery {by} already, and its rows would count twice: "
        f"take that one out with `lakegate recall {first[:12]} --reason REASON`, or give --again"
    )
    assert sent == []
    assert (again["corrected"], after["corrected"]) == (1, 1)
    assert "corrected_by" not in lakegate.json("status", rejected)


def test_what_is_no_finished_delivery_of_the_dataset_is_not_kept(lakegate: Lakegate, rejected: str) -> None:
    """Whoever may deliver may write any text there: it is a finished delivery of the same dataset, or nothing."""
    accepted = lakegate.delivered()
    lakegate.upload(name="open.csv", body=b"id,amount\nq,1\n")
    (waiting,) = (each["workload"] for each in lakegate.json("status")["deliveries"] if not each["verdict"])
    lakegate.clients["s3"].put_object(Bucket=LANDING, Key="nowhere/x.csv", Body=b"1")
    lakegate.intake("nowhere/x.csv")
    (unrouted,) = (each["workload"] for each in lakegate.json("status")["deliveries"] if each["key"] == "nowhere/x.csv")
    kept = []
    for at, text in enumerate(
        (rejected, accepted, waiting, unrouted, "0" * 64, "../x", "a' OR '1'='1", "\u2028", "x" * 1900)
    ):
        key, metadata = f"orders/{at}.csv", {CORRECTS: text.encode("ascii", "replace").decode()}
        lakegate.clients["s3"].put_object(Bucket=LANDING, Key=key, Body=b"id\n%d\n" % at, Metadata=metadata)
        lakegate.intake(key)
        kept += [each.get("corrects") for each in lakegate.json("status")["deliveries"] if each["key"] == key]

    assert kept == [rejected, accepted, *[None] * 7]


def test_machines_get_what_was_delivered(lakegate: Lakegate, rejected: str, tmp_path: Path) -> None:
    """The workload, the keys and the numbers of rows."""
    made = lakegate.json("deliver", "--corrects", rejected, fixed(tmp_path, HELPERS), "--leave-out")

    assert made | {"workload": ""} == {
        "workload": "",
        "corrects": rejected,
        "keys": ["orders/bad.csv"],
        "corrected": 0,
        "left_out": 1,
        "status": None,
    }
    assert landed(lakegate)[0] == b"id,amount\nb,2\nc,3\nd,4\n"


@pytest.mark.parametrize(
    ("words", "text", "refusal"),
    [
        (["ffffffffffff"], f"{HELPERS}2,0,,a,1\n", "is called so: give the whole workload id"),
        (
            ["orders/day.csv"],
            f"{HELPERS}2,0,,a,1\n",
            "nothing is in quarantine of orders/day.csv: all of it was accepted",
        ),
        (["orders/bad.csv"], f"{HELPERS}2,0,,,1\n", "differs from what was rejected: correct them first"),
        (["orders/bad.csv"], HELPERS, "lacks 1 failing row (row 2): correct all of them"),
        (["orders/bad.csv"], f"{HELPERS}3,0,,b,2\n", "row 3 is none of the rejected rows of this delivery"),
        (["orders/bad.csv"], "_row,_part,_reasons,other\n2,0,,a\n", "another header than _row,_part,_reasons"),
        (["orders/bad.csv", "--contract", "shop"], HELPERS, "--corrects names a delivery: leave out --contract"),
    ],
)
@pytest.mark.usefixtures("rejected")
def test_what_cannot_be_corrected_is_refused_and_nothing_sent(
    lakegate: Lakegate, tmp_path: Path, words: list[str], text: str, refusal: str
) -> None:
    """In one sentence; another delivery's rows are none of this one."""
    lakegate.delivered()
    result = lakegate("deliver", "--corrects", *words, fixed(tmp_path, text))

    assert refusal in str(result.exception)
    assert not lakegate.clients["s3"].list_objects_v2(Bucket=LANDING).get("Contents")


def test_the_file_is_one_of_rows_that_can_be_put_back(lakegate: Lakegate, rejected: str, tmp_path: Path) -> None:
    """For a spreadsheet or as Parquet they are to be read; the error names the command that writes the other form."""
    (tmp_path / "bad.parquet").write_bytes(b"")
    other = lakegate("deliver", "--corrects", rejected, str(tmp_path / "bad.parquet"))
    none = lakegate("deliver", "--corrects", rejected, str(tmp_path / "nowhere.csv"))
    command = f"`lakegate reasons {rejected[:12]} --rows bad.csv`"

    assert f"are delivered again from a .csv file, as {command} writes it" in str(other.exception)
    assert f"nowhere.csv is no file: {command} has the rows to correct" in str(none.exception)


def test_the_wait_ends_as_that_of_an_upload(
    lakegate: Lakegate, rejected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reasons, where the data is now, and the next command."""
    made: list[str] = []

    def taken_in() -> None:
        lakegate.intake("orders/bad.csv")
        made.extend(each["workload"] for each in lakegate.json("status")["deliveries"] if each["workload"] != rejected)

    meanwhile(monkeypatch, taken_in, lambda: lakegate.answer(made[0], 1))
    result = lakegate("deliver", "--corrects", rejected, fixed(tmp_path), "--wait")
    lines = result.stdout.splitlines()

    assert result.exit_code == 1
    assert lines[0] == f"1 corrected row, to orders/bad.csv: it corrects {rejected[:12]}"
    assert lines[1].split() == ["workload", made[0]]
    assert "1 of 4 rows fails (25 %)" in result.stdout
    assert "quarantine/shop/orders_v1" in result.stdout
    assert "s from upload to verdict" in lines[-2]
    assert lines[-1] == f"Next: lakegate reasons {made[0][:12]}"


def test_without_a_delivery_the_contract_is_named(lakegate: Lakegate, tmp_path: Path) -> None:
    """One sentence has both ways."""
    for words in ([], ["--api", "https://example.com"], ["--contract", "a", "--again"]):
        result = lakegate("deliver", fixed(tmp_path), *words)
        assert str(result.exception) == "name the contract with --contract, or a rejected delivery with --corrects"


def test_a_refused_file_has_no_rows_to_correct(lakegate: Lakegate, tmp_path: Path) -> None:
    """One without a header was refused at the door."""
    lakegate.routed()
    lakegate.upload(name="bad.csv", body=b"x,y\n1,2\n")
    lakegate.intake("orders/bad.csv")
    result = lakegate("deliver", "--corrects", "orders/bad.csv", fixed(tmp_path))

    assert "was rejected for no single row: correct the whole of it, and upload it again" in str(result.exception)


def split(lakegate: Lakegate, rejected_rows: bytes, policy: dict[str, str] = BY_ROWS) -> str:
    """A delivery of which rows were rejected alone, as a job leaves it."""
    lakegate.routed(**policy)
    workload = lakegate.upload(name="bad.csv", body=BAD["body"])
    answer_by_rows(lakegate, workload, rejected_rows)
    return workload


def answer_by_rows(lakegate: Lakegate, workload: str, rejected_rows: bytes) -> None:
    lakegate.intake("orders/bad.csv")
    row = lakegate.dependencies.workloads.get(workload)
    folder = f"{attempt_prefix(row.id, row.attempt)}"
    shares = {}
    for share, body in (("accepted", b"id,amount\nb,2\nc,3\nd,4\n"), ("rejected", rejected_rows)):
        key = f"{folder}/rows/{share}/part-00000-1.csv"
        there = lakegate.dependencies.objects.put(Address(LAKE, key), body)
        shares[share] = (WrittenObject(f"s3://{LAKE}/{key}", there.size, there.etag),)
    lakegate.answer(workload, 1, shares=Shares(**shares))


def test_of_rows_that_were_rejected_alone_only_they_are_delivered(lakegate: Lakegate, tmp_path: Path) -> None:
    """The others are published already; the reasons lead there."""
    workload = split(lakegate, b'_reasons,id,amount\n"required/id",,1\n')
    reasons = lakegate.ok("reasons", workload).splitlines()
    lakegate.ok("get", "--quarantined", workload, str(tmp_path / "bad"))
    (file,) = (tmp_path / "bad").rglob("part-*.csv")
    file.write_text(file.read_text().replace('",,1', '",a,1'))
    made = lakegate.json("deliver", "--corrects", workload, str(file))
    lakegate.intake("orders/bad.csv")
    lakegate.answer(made["workload"])
    block = lakegate.dependencies.ledger.block("shop/orders_v1", 1)

    assert reasons[-2:] == [
        f"Next: lakegate get --quarantined {workload[:12]} bad",
        f"Corrected: lakegate deliver --corrects {workload[:12]} FILE",
    ]
    assert made["corrected"] == 1
    assert isinstance(block, Block)
    assert block.corrects == workload


def test_the_wait_for_rows_that_are_rejected_alone_ends_with_the_next_command(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the delivery is accepted: some of its rows are not."""
    lakegate.routed(**BY_ROWS)

    def answer() -> None:
        (version,) = lakegate.dependencies.objects.versions(LANDING, "orders/").versions
        workload = workload_id(LANDING, version.key, version.version)
        answer_by_rows(lakegate, workload, b'_reasons,id,amount\n"required/id",,1\n')

    meanwhile(monkeypatch, answer)
    ended = lakegate("upload", lakegate.file(BAD["body"], "bad.csv"), "--to", "orders/", "--wait")

    assert (ended.exit_code, "Accepted with warnings" in ended.stdout) == (0, True)
    assert re.fullmatch("Next: lakegate reasons [0-9a-f]{12}", ended.stdout.splitlines()[-1])


def test_rows_of_a_split_keep_the_bytes_that_were_corrected(lakegate: Lakegate, tmp_path: Path) -> None:
    """Behind the reasons everything is data."""
    workload = split(lakegate, b'_reasons,id,amount\n"required/id",,1\n')
    lakegate.ok("deliver", "--corrects", workload, fixed(tmp_path, '_reasons,id,amount\nx,"a,1",1\n'))

    assert landed(lakegate) == (b'id,amount\n"a,1",1\n', {"lakegate-corrects": workload})


@pytest.mark.parametrize("replaces", ["replaces: delivery", "replaces: period, period: id"])
def test_a_delivery_that_takes_the_place_of_another_has_all_rows(
    replaces: str, lakegate: Lakegate, tmp_path: Path
) -> None:
    """With `replaces` the corrected rows alone would replace those that were accepted."""
    policy = {name: text.replace("onReject: rows", f"onReject: rows, {replaces}") for name, text in BY_ROWS.items()}
    workload = split(lakegate, b'_reasons,id,amount\n"required/id",,1\n', policy)
    lakegate.ok("deliver", "--corrects", workload, fixed(tmp_path, "_reasons,id,amount\nx,a,1\n"))

    assert landed(lakegate)[0] == b"id,amount\nb,2\nc,3\nd,4\na,1\n"
    lakegate.intake("orders/bad.csv")
    lakegate.answer(next(each["workload"] for each in lakegate.json("status")["deliveries"] if not each["verdict"]))
    assert lakegate.json("status", workload)["corrected_by"]["height"] == 1
    lakegate.ok("deliver", "--corrects", workload, fixed(tmp_path, "_reasons,id,amount\nx,e,1\n"))
    assert landed(lakegate)[0] == b"id,amount\nb,2\nc,3\nd,4\ne,1\n"


PARTS = {"a.csv": b"id,amount\n,1\nb,2\n", "b.csv": b"id,amount\nc,3\n,4\n", "c.csv": b"id,amount\ne,5\n"}


def rejected_parts(lakegate: Lakegate, unit: str, marker: str, body: bytes = b"") -> str:
    """A rejected delivery of three objects."""
    policy = f"customProperties: [{{property: lakegate, value: {{delivery: {unit}}}}}]\nschema:\n"
    lakegate.routed(**{"schema:\n": policy})
    for name, content in {**PARTS, **({marker: body} if marker else {})}.items():
        lakegate.clients["s3"].put_object(
            Bucket=LANDING, Key=f"orders/day/{name}", Body=content, ChecksumAlgorithm="SHA256"
        )
    lakegate.intake(f"orders/day/{marker or 'a.csv'}")
    (one,) = lakegate.json("status")["deliveries"]
    lakegate.answer(one["workload"], 1)
    return str(one["workload"])


@pytest.mark.parametrize(("unit", "marker"), [("success", "_SUCCESS"), ("manifest", "_delivery.json")])
def test_every_object_of_a_delivery_is_delivered_again_and_completed(
    lakegate: Lakegate, tmp_path: Path, unit: str, marker: str
) -> None:
    """Under their names, those without a bad row too, and last what completes the delivery, which is the workload."""
    listed = [{"key": name, "size": len(body)} for name, body in PARTS.items()]
    manifest = json.dumps({"format": "lakegate-delivery/1", "parts": listed}).encode()
    workload = rejected_parts(lakegate, unit, marker, manifest if unit == "manifest" else b"")
    rows = tmp_path / "bad.csv"
    lakegate.ok("reasons", workload, "--rows", str(rows))
    before = rows.read_text()
    rows.write_text(before.replace('",,1', '",a,1').replace('",,4', '",d,4'))
    made = lakegate.json("deliver", "--corrects", workload, str(rows))
    found = {name: landed(lakegate, f"orders/day/{name}") for name in (*PARTS, marker)}
    lakegate.intake(f"orders/day/{marker}")
    lakegate.answer(made["workload"])
    block = lakegate.dependencies.ledger.block("shop/orders_v1", 1)

    sizes = [{"key": name, "size": len(found[name][0])} for name in PARTS]
    assert [line.split(",")[:2] for line in before.splitlines()[1:]] == [["2", "0"], ["3", "1"]]
    assert made["keys"] == [f"orders/day/{name}" for name in (*PARTS, marker)]
    assert {name: body for name, (body, _) in found.items()} == {
        "a.csv": b"id,amount\na,1\nb,2\n",
        "b.csv": b"id,amount\nc,3\nd,4\n",
        "c.csv": PARTS["c.csv"],
        marker: b"" if unit == "success" else json.dumps({"format": "lakegate-delivery/1", "parts": sizes}).encode(),
    }
    assert {about["lakegate-corrects"] for _, about in found.values()} == {workload}
    assert isinstance(block, Block)
    assert (block.verdict, block.corrects, len(block.objects)) == ("accepted", workload, 3)

"""`lakegate table --adopt`: deliveries that were accepted before their dataset was a table come into it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakegate.base.errors import InputError
from lakegate.features.tables.adoption import CHANGED, deliveries_to_adopt
from lakegate.features.tables.keep_table import NO_ERASURES
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ledger.blocks import Block, Record, deliveries
from lakegate.gate.ledger.restore_object import lost_object
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.gate.ports import Address
from lakegate.gate.registry.contract_versions import newest_release
from lakegate.local_check.finished_objects import find_object
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measured, Measurement, Result, Shares, WrittenObject
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.tables.test_table_command import AS_TABLE, add_database, words
from tests.unit.gate.ledger.ledger_chain import a_block

LINE = "shop/orders_v1"
AMOUNT = "{name: amount, logicalType: integer, classification: public}"
BODY = b"id,amount\na,1\nb,2\nc,x3\nb,4\n"
"""The third record has a text in the place of its number."""
ROWS = [("a", 1), ("b", 2), ("c", None), ("b", 4)]


def accept(lakegate: Lakegate, body: bytes = BODY, **given: Any) -> Block:
    """A delivery that is accepted, whatever its bytes are."""
    workload = lakegate.upload(body=body, **given)
    lakegate.intake(f"orders/{given.get('name', 'day.csv')}")
    lakegate.answer(workload)
    return next(each for each in blocks(lakegate) if isinstance(each, Block) and each.workload == workload)


def become_table(lakegate: Lakegate, **changes: str) -> None:
    """The next minor version is published as a table."""
    lakegate.ok("publish", lakegate.contract("1.1.0", **{"schema:\n": AS_TABLE, **changes}))


@pytest.fixture
def grown(lakegate: Lakegate) -> Lakegate:
    """A dataset of files, of a stack with a database for tables."""
    lakegate.routed()
    add_database(lakegate)
    return lakegate


def blocks(lakegate: Lakegate) -> tuple[Any, ...]:
    return lakegate.dependencies.ledger.blocks(LINE)


def adoptions(lakegate: Lakegate) -> list[Record]:
    found = [each for each in blocks(lakegate) if isinstance(each, Record) and each.kind == "adoption"]
    for each in found:
        validate("record-adoption", dict(each.content))
    return found


def typed(lakegate: Lakegate, block: Block) -> list[tuple[Any, ...]]:
    """The rows of the typed files of a delivery, by the ledger."""
    gate, rows = lakegate.dependencies, list[tuple[Any, ...]]()
    erasures = erasures_of(blocks(lakegate))
    versions = {each.key: each.version for each in erasures.added_to(block)}
    for file in erasures.table_of(block):
        table = pq.read_table(io.BytesIO(gate.objects.read(Address(LAKE, file.key, versions[file.key]))))
        assert table.num_rows == file.rows
        rows += [tuple(each.values()) for each in table.to_pylist()]
    return rows


def staged(lakegate: Lakegate) -> list[str]:
    """Current objects below staging/."""
    pages = lakegate.clients["s3"].get_paginator("list_objects_v2").paginate(Bucket=LAKE, Prefix="staging/")
    return [each["Key"] for page in pages for each in page.get("Contents", [])]


def test_a_delivery_of_before_gets_typed_files_that_the_ledger_names(grown: Lakegate) -> None:
    """By the plan that accepted it; the record says who did it, and of which delivery, and nothing is left in between."""
    block = accept(grown)
    become_table(grown)
    before = grown.json("table", "orders")["lacks"]
    answer = grown.json("table", "orders", "--adopt", "--yes")
    (record,) = adoptions(grown)
    (file,) = record.content["table"]

    assert answer == {
        "line": LINE,
        "dry_run": False,
        "deliveries": 1,
        "rows": 4,
        "files": 1,
        "size": len(BODY),
        "left": [],
    }
    assert (typed(grown, block), staged(grown)) == (ROWS, [])
    assert (record.content["workload"], record.content["height"]) == (block.workload, block.height)
    assert record.actor == grown.dependencies.identity.caller()
    assert file["key"].startswith(block.objects[0].key.rpartition("/")[0] + "/_table/part-00000-")
    assert (before, grown.json("table", "orders")["lacks"]) == (0, 1)
    assert grown.json("verify", "orders", "--objects")["intact"]
    (listed,) = grown.json("get", "orders", str(grown.folder / "data"))["deliveries"]
    assert [str(each["path"]).rpartition("/")[2] for each in listed["files"]] == ["part-00000.csv"]


def test_a_preview_and_a_refused_question_change_nothing(grown: Lakegate) -> None:
    accept(grown)
    become_table(grown)
    height = len(blocks(grown))

    assert grown.json("table", "orders", "--adopt", "--dry-run") == {
        "line": LINE,
        "dry_run": True,
        "deliveries": 1,
        "rows": None,
        "files": None,
        "size": len(BODY),
        "left": [],
    }
    assert f"1 delivery of {LINE}, {len(BODY)} bytes, would be adopted" in grown.ok(
        "table", "orders", "--adopt", "--dry-run"
    )
    assert "confirm it with --yes" in words(grown("table", "orders", "--adopt"))
    assert (len(blocks(grown)), staged(grown)) == (height, [])


@pytest.mark.parametrize("end", ["adopt_deliveries.stage_file", "adoption.append_agreed"])
def test_a_repeated_command_adopts_the_rest_alone(grown: Lakegate, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Wherever it ended: before a delivery was staged, or between copy and record, where the copy is found by its name."""
    first, second = accept(grown), accept(grown, b"id,amount\nd,5\n", name="next.csv")
    become_table(grown)
    place = f"lakegate.features.tables.{end}"
    with monkeypatch.context() as patch:
        between(patch, place, lambda: patch.setattr(place, ended))
        grown("table", "orders", "--adopt", "--yes")
    assert [each.content["workload"] for each in adoptions(grown)] == [first.workload]
    copied = versions(grown)
    assert "1 delivery of shop/orders_v1, 1 row, are adopted" in grown.ok("table", "orders", "--adopt", "--yes")
    assert "Nothing is to be adopted" in grown.ok("table", "orders", "--adopt", "--yes")

    assert [each.content["workload"] for each in adoptions(grown)] == [first.workload, second.workload]
    assert (typed(grown, first), typed(grown, second)) == (ROWS, [("d", 5)])
    assert set(copied) <= set(versions(grown))
    assert grown.json("verify", "orders", "--objects")["intact"]


def ended(*_given: Any) -> None:
    """A person has ended the command."""
    raise KeyboardInterrupt


def between(monkeypatch: pytest.MonkeyPatch, place: str, act: Callable[[], object]) -> None:
    """Once, something else happens behind a call of a command."""
    module, _, name = place.rpartition(".")
    before, left = getattr(import_module(module), name), [act]

    def call(*given: Any, **named: Any) -> Any:
        found = before(*given, **named)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(place, call)


def test_each_delivery_has_the_columns_of_its_own_version(grown: Lakegate) -> None:
    """A column that a later version has added is not in it: the table has nulls there."""
    block = accept(grown)
    become_table(grown, **{AMOUNT: f"{AMOUNT}\n      - {{name: note, logicalType: string}}"})
    grown.ok("table", "orders", "--adopt", "--yes")

    assert typed(grown, block) == ROWS


def test_what_was_rejected_alone_is_no_part_of_it(lakegate: Lakegate) -> None:
    """With onReject: rows: accepted objects have accepted rows alone, and several objects are read in their order."""
    split = "customProperties: [{property: lakegate, value: {onReject: rows}}]\nschema:\n"
    lakegate.routed(**{"schema:\n": split})
    add_database(lakegate)
    block = of_shares(lakegate)
    both = split.replace("onReject: rows", "onReject: rows, publishAs: iceberg")
    lakegate.ok("publish", lakegate.contract("1.1.0", **{"schema:\n": both}))
    lakegate.ok("table", "orders", "--adopt", "--yes")

    assert typed(lakegate, block) == [("a", 1), ("b", 2), ("c", 3)]
    assert erasures_of(blocks(lakegate)).rejected_table_of(block) == ()
    assert lakegate.json("verify", "orders", "--objects")["intact"]


def of_shares(lakegate: Lakegate) -> Block:
    """A delivery whose good rows are in two objects, with one bad row."""
    workload = lakegate.upload(body=b"id,amount\na,1\nb,2\nbad,\nc,3\n")
    lakegate.intake()
    gate = lakegate.dependencies
    row = gate.workloads.get(workload)
    plan, folder = Plan.from_json(json.loads(gate.plan(row))), attempt_prefix(row.id, row.attempt)

    def kept(name: str, body: bytes) -> WrittenObject:
        found = gate.objects.put(Address(LAKE, f"{folder}/rows/{name}"), body)
        return WrittenObject(f"s3://{LAKE}/{folder}/rows/{name}", found.size, found.etag)

    shares = Shares(
        (
            kept("accepted/part-00000-x.csv", b"id,amount\na,1\nb,2\n"),
            kept("accepted/part-00001-x.csv", b"id,amount\nc,3\n"),
        ),
        (kept("rejected/part-00000-y.csv", b'_reasons,id,amount\n"required",bad,\n'),),
    )
    measured = tuple(Measurement(each.id, Measured(4, 0), Measured(4, 0)) for each in plan.checks)
    known = (row.id, row.attempt, plan.digest, row.source.version, 4, 1)
    result = Result(*known, columns=Columns(("id",)), measurements=measured, shares=shares)
    gate.objects.put(Address(LAKE, f"{folder}/result.json"), result.to_bytes())
    run(advance(DeliveryTurn(gate, row)), gate.clock)
    return deliveries(blocks(lakegate))[-1]


def test_a_record_that_cannot_be_read_is_no_row(grown: Lakegate) -> None:
    """As in the table of a delivery whose run wrote typed files."""
    block = accept(grown, b"id,amount\na,1\nb,2,more\nc,3\n")
    become_table(grown)
    grown.ok("table", "orders", "--adopt", "--yes")

    assert typed(grown, block) == [("a", 1), ("c", 3)]


def test_a_delivery_without_rows_is_adopted_once_and_has_no_file(grown: Lakegate) -> None:
    accept(grown, b"id,amount\n")
    become_table(grown)
    grown.ok("table", "orders", "--adopt", "--yes")
    (record,) = adoptions(grown)

    assert "table" not in record.content
    assert "Nothing is to be adopted" in grown.ok("table", "orders", "--adopt", "--yes")
    assert grown.json("table", "orders")["lacks"] == 0


# ---- What is refused ----


def test_the_newest_version_must_be_a_table(grown: Lakegate) -> None:
    accept(grown)
    refused = words(grown("table", "orders", "--adopt", "--yes"))

    assert refused == (
        f"the newest version of shop, 1.0.0, publishes {LINE} as no table: publish a minor version that says "
        "`publishAs: iceberg`, and repeat the command"
    )


MISFITS: dict[str, tuple[str, str, str]] = {
    "another type": (
        "{name: amount, logicalType: string}",
        AMOUNT,
        "the field `amount` has the type string, and int64 in the table",
    ),
    "other letters": (
        "{name: Amount, logicalType: integer}",
        AMOUNT,
        "the field `Amount` is written `amount` in the table",
    ),
    "a reserved name": (
        "{name: _file, logicalType: integer}",
        AMOUNT,
        "the field `_file` can be no column: every table of Iceberg has a column of this name: rename the field",
    ),
}


@pytest.mark.parametrize(("before", "after", "reason"), MISFITS.values(), ids=MISFITS)
def test_columns_that_one_table_cannot_have_are_refused_before_anything_is_written(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, before: str, after: str, reason: str
) -> None:
    """The message names the delivery and the field. `publish` refuses most of such versions: here another contract has it."""
    lakegate.routed(**{AMOUNT: before})
    add_database(lakegate)
    block = accept(lakegate)
    become_table(lakegate, **{"id: shop": "id: other", AMOUNT: after})
    newest = newest_release(lakegate.dependencies.registry.contract("other"), 1)
    monkeypatch.setattr("lakegate.features.tables.adoption.newest_release", lambda *_: newest)
    height = len(blocks(lakegate))
    refused = words(lakegate("table", LINE, "--adopt", "--yes"))

    assert refused.startswith(f"delivery {block.workload[:12]} (height {block.height}), version 1.0.0: {reason}")
    assert "Nothing was adopted" in refused
    assert (len(blocks(lakegate)), staged(lakegate)) == (height, [])


def test_slices_are_refused_by_name() -> None:
    """Later rows of them may correct earlier ones."""
    block = replace(a_block(), slices=())
    with pytest.raises(InputError, match=f"delivery {block.workload[:12]} .height 0. was published as slices"):
        deliveries_to_adopt([block], NO_ERASURES)


def test_options_of_reading_are_refused(grown: Lakegate) -> None:
    become_table(grown)

    assert "leave --for, --rejected, --height and --at out" in words(
        grown("table", "orders", "--adopt", "--height", "0")
    )
    assert "--dry-run and --yes are about --adopt" in words(grown("table", "orders", "--dry-run"))


# ---- Beside erasures and losses ----


def erase(lakegate: Lakegate, *more: str) -> None:
    lakegate.ok("erase", "orders", *(more or ("--where-key", "id=b")), "--reason", "t", "--yes")


def versions(lakegate: Lakegate) -> list[str]:
    """Names of all versions of accepted objects."""
    pages = lakegate.clients["s3"].get_paginator("list_object_versions")
    found = pages.paginate(Bucket=LAKE, Prefix=f"accepted/{LINE}/ingest_date=")
    return [each["Key"].rpartition("/")[2] for page in found for each in page.get("Versions", [])]


def test_an_erasure_reaches_adopted_files(grown: Lakegate) -> None:
    """As those that a run wrote: by rows, again, and whole; nothing of before is left."""
    block = accept(grown)
    become_table(grown)
    grown.ok("table", "orders", "--adopt", "--yes")
    erase(grown)
    assert (typed(grown, block), len(versions(grown))) == ([("a", 1), ("c", None)], 2)
    assert grown.json("verify", "orders", "--objects")["intact"]
    erase(grown, "--where-key", "amount=x3")
    assert typed(grown, block) == [("a", 1)]
    erase(grown, "--delivery", block.workload)
    assert (typed(grown, block), versions(grown)) == ([], [])
    assert "Nothing is to be adopted" in grown.ok("table", "orders", "--adopt", "--yes")


def test_erased_rows_are_not_adopted(grown: Lakegate) -> None:
    """What stands is read; a delivery of which nothing is left is none to adopt."""
    block = accept(grown)
    erase(grown, "--delivery", accept(grown, b"id,amount\nz,9\n", name="next.csv").workload)
    erase(grown)
    become_table(grown)
    answer = grown.json("table", "orders", "--adopt", "--yes")

    assert (answer["deliveries"], typed(grown, block)) == (1, [("a", 1), ("c", None)])
    assert grown.json("verify", "orders", "--objects")["intact"]


def test_an_erasure_that_begins_meanwhile_refuses_the_record(grown: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read has its rows. Repeated, the command reads what is left."""
    block = accept(grown)
    become_table(grown)
    between(monkeypatch, "lakegate.features.tables.adopt_deliveries.stage_file", lambda: erase(grown))
    refused = grown("table", "orders", "--adopt", "--yes")

    assert refused.exit_code == 3
    assert f"not adopted: {block.workload[:12]} (height 0): {CHANGED}" in refused.stdout
    assert adoptions(grown) == []
    erase(grown)
    assert (versions(grown), staged(grown)) == (["part-00000.csv"], [])
    grown.ok("table", "orders", "--adopt", "--yes")
    assert typed(grown, block) == [("a", 1), ("c", None)]


def test_an_erasure_that_searched_before_is_refused(grown: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not know the typed files. Repeated, it finds the rows in both."""
    block = accept(grown)
    become_table(grown)
    adopt = partial(grown.ok, "table", "orders", "--adopt", "--yes")
    between(monkeypatch, "lakegate.features.erasure.erase_command.stage_remainders", adopt)
    refused = grown("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")

    assert "this delivery has typed files since it was searched: repeat the command" in words(refused)
    assert typed(grown, block) == ROWS
    erase(grown)
    assert typed(grown, block) == [("a", 1), ("c", None)]


def test_an_erasure_deletes_files_that_were_never_recorded(grown: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has ended between copy and record: they have the rows, and no record names them."""
    accept(grown)
    become_table(grown)

    with monkeypatch.context() as patch:
        patch.setattr("lakegate.features.tables.adoption.append_agreed", ended)
        grown("table", "orders", "--adopt", "--yes")
    assert len(versions(grown)) == 2
    erase(grown)

    assert (versions(grown), adoptions(grown)) == (["part-00000.csv"], [])
    assert grown.json("verify", "orders", "--objects")["intact"]


def test_an_unfinished_erasure_comes_first(grown: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(grown)
    become_table(grown)

    with monkeypatch.context() as patch:
        patch.setattr("lakegate.features.erasure.erasure._replace", ended)
        grown("erase", "orders", "--where-key", "id=b", "--reason", "t", "--yes")
    refused = grown("table", "orders", "--adopt", "--yes")

    assert (refused.exit_code, adoptions(grown)) == (3, [])
    assert "an erasure of it is not finished: repeat that `lakegate erase`, and then this command" in refused.stdout


def test_a_delivery_whose_object_is_lost_stops_no_other(grown: Lakegate) -> None:
    lost = accept(grown).objects[0]
    other = accept(grown, b"id,amount\nd,5\n", name="next.csv")
    become_table(grown)
    grown.clients["s3"].delete_object(Bucket=LAKE, Key=lost.key, VersionId=lost.version)
    refused = grown("table", "orders", "--adopt", "--yes", "--json")

    assert refused.exit_code == 3
    assert [(each["height"], each["reason"]) for each in json.loads(refused.stdout)["left"]] == [
        (0, f"{lost.key} is not there any more: lakegate verify {LINE} --objects")
    ]
    assert typed(grown, other) == [("d", 5)]


def test_an_object_that_is_not_as_the_ledger_states_is_not_adopted(
    grown: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 keeps a version as it is: here it has another size than the block says."""
    accept(grown)
    become_table(grown)
    place = "lakegate.features.tables.adopt_deliveries.find_object"
    monkeypatch.setattr(place, lambda *given: find_object(*given)._replace(size=1))  # type: ignore[union-attr]
    refused = grown("table", "orders", "--adopt", "--yes")

    assert (refused.exit_code, adoptions(grown)) == (3, [])
    assert f"its objects are not as the ledger states: lakegate verify {LINE} --objects" in refused.stdout


def test_an_adopted_file_that_is_lost_is_found_and_can_be_put_back(grown: Lakegate) -> None:
    """As every object that a block names."""
    accept(grown)
    become_table(grown)
    grown.ok("table", "orders", "--adopt", "--yes")
    (file,) = adoptions(grown)[0].content["table"]
    body = grown.clients["s3"].get_object(Bucket=LAKE, Key=file["key"])["Body"].read()
    grown.clients["s3"].delete_object(Bucket=LAKE, Key=file["key"], VersionId=file["version"])
    found = grown("verify", "orders", "--objects")

    assert (found.exit_code, found.stdout.count("lost: ")) == (1, 1)
    assert lost_object(grown.dependencies, file["key"]).stated.version == file["version"]
    path = grown.folder / "typed.parquet"
    path.write_bytes(body)
    grown.ok("restore", file["key"], str(path))
    assert grown.json("verify", "orders", "--objects")["intact"]

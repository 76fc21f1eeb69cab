"""The same rows in every format and codec: one verdict, the same numbers, the same places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lint.examine import read
from lakegate.contracts.model.policy import Policy
from lakegate.contracts.model.storage import Compression, Format, Storage
from lakegate.contracts.plan.result import Columns
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.written import STORAGES, packed, written
from tests.engine.formats import EXPECTED, FIELDS, RULES, TABLE, failing, stored
from tests.reference.cases import only_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.deliveries.delivery import Judged


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_the_same_rows_give_the_same_verdict(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """In every format and every codec each check finds the same rows."""
    judged = judge_files(stored(plan_of(FIELDS, *RULES), storage), written(TABLE, storage))

    assert failing(judged) == EXPECTED
    assert (judged.verdict, judged.result.rows, judged.result.rejected_rows) == (Verdict.REJECTED, 4, 4)
    assert Status.ERROR not in judged.statuses().values()
    assert judged.result.columns == Columns(tuple(FIELDS))


ONE_CODEC = [each for each in STORAGES if each.compression in {Compression.NONE, Compression.GZIP}]


@pytest.mark.parametrize("storage", ONE_CODEC, ids=lambda storage: storage.suffix)
def test_a_delivery_of_two_objects_is_one(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Keys are compared across objects, and a sample contains the number of its object."""
    plan = stored(plan_of({"id": "integer", "name": "string"}, rule("unique", "id")), storage)
    table = TABLE.select(["id", "name"])

    judged = judge_files(plan, written(table.slice(0, 1), storage), written(table.slice(0, 2), storage))
    samples = next(each.samples for each in judged.result.measurements if each.check == "unique/id")
    first = 2 if storage.format is Format.CSV else 1

    assert (judged.result.rows, failing(judged)["unique/id"]) == (3, 2)
    assert [(each.part, each.row) for each in samples] == [(0, first), (1, first)]


EMPTY = [each for each in ONE_CODEC if each.format is not Format.CSV]


@pytest.mark.parametrize("storage", EMPTY, ids=lambda storage: storage.suffix)
@pytest.mark.parametrize("allowed", [True, False])
def test_no_rows_are_no_success(storage: Storage, allowed: bool, judge_files: Callable[..., Judged]) -> None:  # noqa: FBT001 - a case
    """A file without rows is rejected, unless its contract allows that (P22)."""
    content = b"\n" if storage == Storage(Format.JSONL) else written(TABLE.slice(0, 0), storage)

    judged = judge_files(stored(plan_of(FIELDS, policy=Policy(allow_empty=allowed)), storage), content)

    assert (judged.result.unreadable, judged.result.rows) == (None, 0)
    assert judged.verdict is (Verdict.ACCEPTED if allowed else Verdict.REJECTED)


def test_a_packed_file_is_accounted_for_by_its_packed_bytes(judge_files: Callable[..., Judged]) -> None:
    """Two members of gzip are one file, and a quoted value may hold line breaks there too."""
    plan = plan_of({"id": "integer", "text": "string"})
    plan = replace(plan, storage=Storage(compression=Compression.GZIP), csv=replace(plan.csv, multi_line=True))
    content = packed(b'id,text\n1,"a\nb"\n', Compression.GZIP) + packed(b'2,"c\n\n"\n3,d', Compression.GZIP)

    judged = judge_files(plan, content)

    assert (judged.verdict, judged.result.rows, judged.result.malformed) == (Verdict.ACCEPTED, 3, ())


ORDERS = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
servers: [{{server: a, type: s3, location: s3://b/p, format: {form}}}]
schema: [{{name: rows, properties: [{{name: id, logicalType: integer, required: true}}]}}]
"""


@pytest.mark.parametrize("objects", [(b'\n {"id": 1}\n{"id": 2}\n',), (b' [{"id": 1}, {"id": 2}]',)])
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_server_of_json_is_read_as_lines_or_as_one_array(
    objects: tuple[bytes, ...], codec: Compression, judge_files: Callable[..., Judged]
) -> None:
    """If a server declares `json` without a delimiter, the first character of the file decides."""
    contract = read(ORDERS.format(form="json").encode())
    plan = only_plan(contract)
    plan = replace(plan, storage=replace(plan.storage, compression=codec))

    judged = judge_files(plan, *(packed(each, codec) for each in objects))

    assert (judged.verdict, judged.result.rows) == (Verdict.ACCEPTED, 2)


def test_objects_of_one_delivery_have_one_form_of_json(judge_files: Callable[..., Judged]) -> None:
    """JSON lines beside an array are rejected, with that reason."""
    contract = read(ORDERS.format(form="json").encode())

    judged = judge_files(only_plan(contract), b'{"id": 1}\n', b'[{"id": 2}]')

    assert judged.result.unreadable is not None
    assert judged.result.unreadable.code == "forms"


def test_a_format_that_is_not_read_is_never_taken_for_csv(judge_files: Callable[..., Judged]) -> None:
    """A contract whose server declares `delta` has every file refused, with the key to declare."""
    contract = read(ORDERS.format(form="delta").encode())

    judged = judge_files(only_plan(contract), b"id\n1\n")

    assert Verdict.REJECTED is judged.verdict
    assert "say `format` in its `lakegate` extension" in judged.reasons

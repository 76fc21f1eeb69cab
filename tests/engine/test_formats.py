"""The same rows in every format and codec: one verdict, the same numbers, the same places."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.lints.linter import read
from lakegate.plan.result import Columns
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import STORAGES, around, packed, written
from tests.engine.formats import EXPECTED, FIELDS, RULES, TABLE, failing, stored
from tests.reference.cases import only_plan
from tests.unit.rules.test_nested_fields import nested_plan


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


JSON = [each for each in STORAGES if each.format in {Format.JSON, Format.JSONL}]
SKUS = {"sku": "string", "unit price": "decimal"}
OTHER_KEYS = {
    "another dataset": ([{"temperature": 1.5, "city": "x"}, {"city": "y"}], "is the file of this dataset?"),
    "capitals": (
        [{"SKU": "a", "Unit Price": 1}],
        "another case: 'SKU' should be sku, 'Unit Price' should be unit price",
    ),
    "another spelling": ([{"skus": "a"}, {"unitPrice": 2}], "'unitPrice' should be unit price, 'skus' should be sku"),
    "empty objects": ([{}, {}], "empty objects, with none of the declared keys (sku, unit price)"),
    "wrapped ones": (
        [{"data": {"sku": "a"}}, {"data": None}],
        "wrapped in the key 'data': write the inner object alone",
    ),
    "a list inside": ([{"meta": 1, "data": [{"sku": "a"}]}], "a list in the key 'data' of one object"),
    "wrapped in a key that is data": ([{"ana@example.com": {"sku": "a"}}], "the key 'aaa@aaaaaaa.aaa'"),
}


def json_file(storage: Storage, *records: object) -> bytes:
    texts = [json.dumps(each) for each in records]
    text = "\n".join(texts) if storage.format is Format.JSONL else f"[{','.join(texts)}]"
    return packed(around(storage, text.encode()), storage.compression)


@pytest.mark.parametrize("storage", JSON, ids=lambda storage: storage.suffix)
@pytest.mark.parametrize("name", OTHER_KEYS)
def test_records_with_none_of_the_declared_keys_are_another_dataset(
    name: str, storage: Storage, judge_files: Callable[..., Judged]
) -> None:
    """As a file with none of the declared columns: it is refused as a whole, with what its records are instead."""
    records, words = OTHER_KEYS[name]
    good = json_file(storage, {"sku": "a"})

    alone = judge_files(stored(plan_of(SKUS), storage), json_file(storage, *records))
    second = judge_files(stored(plan_of(SKUS), storage), good, json_file(storage, *records))

    for judged, part in ((alone, 0), (second, 1)):
        assert judged.verdict is Verdict.REJECTED
        assert judged.result.unreadable is not None
        assert (judged.result.unreadable.code, judged.result.unreadable.part) == ("header", part)
        assert words in judged.reasons


@pytest.mark.parametrize("storage", JSON, ids=lambda storage: storage.suffix)
def test_keys_that_no_record_has_are_absent_columns(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """With the reasons and hints of other formats; a null, and a key of only some records, are none."""
    plan = stored(plan_of({**SKUS, "name": "string", "day": "date"}, rule("required", "unit price")), storage)
    records = [{"sku": "a", "Unit-Price": 1}, {"name": None, "more": 1}, {"sku": "b"}]

    judged = judge_files(plan, json_file(storage, *records[:2]), json_file(storage, records[2]))

    assert judged.result.columns == Columns(
        ("sku", "name", "Unit-Price", "more"), absent=("unit price", "day"), extra=("Unit-Price", "more")
    )
    assert {each.check for each in judged.result.measurements} == {"type-0/sku", "type-2/name"}
    assert judged.reasons.splitlines() == [
        "cause/column-names: the keys have another spelling: 'Unit-Price' should be unit price",
        "type-3/day: the file has no column day",
    ]


def test_parts_of_records_are_absent_where_no_record_of_theirs_has_them(judge_files: Callable[..., Judged]) -> None:
    """Not where nothing is there that could have them: no object, or no element."""
    texts = {
        b'{"id": 1, "address": {"Street": "x"}, "items": [], "prices": {}, "any": 1}': {
            "address.street",
            "address.zip",
        },
        b'{"id": 1, "address": null, "items": [{"Sku": 1}], "prices": null, "any": 1}': {
            "items[].sku",
            "items[].tags",
            "items[].tags[]",
        },
        b'{"id": 1}': {
            "address",
            "address.street",
            "address.zip",
            "items",
            "items[]",
            "items[].sku",
            "items[].tags",
            "items[].tags[]",
            "prices",
            "prices.key",
            "prices.value",
            "any",
        },
    }

    for text, absent in texts.items():
        judged = judge_files(nested_plan(), text)
        assert judged.result.columns is not None
        assert set(judged.result.columns.absent) == absent


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "A", "x"]), unique=True), min_size=1), st.data())
@settings(max_examples=20, deadline=None)
def test_a_column_is_absent_exactly_if_no_record_has_its_key(
    judge_files: Callable[..., Judged], keys: list[list[str]], data: st.DataObject
) -> None:
    """However records are spread over objects, and on the short way as on the long one."""
    fields = {"a": "string", "b": "integer", "c": "string"}
    cut = data.draw(st.integers(0, len(keys) - 1))
    objects = [each for each in (keys[:cut], keys[cut:]) if each]
    every = {key for record in keys for key in record}

    judged = judge_files(
        stored(plan_of(fields), Storage(Format.JSONL)),
        *(b"\n".join(json.dumps(dict.fromkeys(record, 1)).encode() for record in each) for each in objects),
    )

    foreign = [at for at, each in enumerate(objects) if not {key for record in each for key in record} & set(fields)]
    if foreign:
        assert judged.result.unreadable is not None
        assert judged.result.unreadable.part == foreign[0]
    else:
        assert judged.result.columns is not None
        assert judged.result.columns.absent == tuple(each for each in fields if each not in every)

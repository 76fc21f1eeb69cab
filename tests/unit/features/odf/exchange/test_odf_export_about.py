"""What a dataset of ODF states of its line: description, licence, source, and how deliveries are merged."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import MergeStrategy, Policy, Pull
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.features.odf.exchange import odf_export
from lakegate.features.odf.exchange.odf_export import (
    UNSTATED,
    describe_plan,
    info_event,
    license_event,
    odf_blocks,
    plan_in,
    source_event,
)
from lakegate.features.odf.format.metadata_chain import (
    AddData,
    MetadataBlock,
    Moment,
    OtherEvent,
    SetAttachments,
    SetDataSchema,
    block_bytes,
    block_in,
)
from lakegate.gate.ledger.blocks import Block
from lakegate.plan.dataset_about import DatasetAbout, License
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of
from tests.unit.features.odf.exchange.test_odf_export import sliced, stored
from tests.unit.features.odf.format.blocks import field

PLAN = plan_of({"id": "integer"})
ID = field("id", "Int64")
FIELDS = (field("offset", "UInt64"), field("op", "UInt8"), ID)
LICENSE = License("Attribution 4.0", spdx="CC-BY-4.0", url="https://example.com/by/4.0")


@pytest.mark.parametrize(
    ("about", "info", "terms"),
    [
        (None, {}, None),
        (DatasetAbout("Visits"), {"description": "Visits"}, None),
        (DatasetAbout(keywords=("a", "b")), {"keywords": ["a", "b"]}, None),
        (
            DatasetAbout(license=LICENSE),
            {},
            {
                "short_name": "CC-BY-4.0",
                "name": "Attribution 4.0",
                "spdx_id": "CC-BY-4.0",
                "website_url": "https://example.com/by/4.0",
            },
        ),
        (
            DatasetAbout(license=License("Our terms", "ours")),
            {},
            {"short_name": "ours", "name": "Our terms", "website_url": ""},
        ),
    ],
)
def test_what_a_contract_states_is_said(
    about: DatasetAbout | None, info: dict[str, Any], terms: dict[str, str] | None
) -> None:
    """Nothing is said that it does not state."""
    plan = replace(PLAN, about=about)

    assert info_event(plan) == OtherEvent("SetInfo", info)
    assert license_event(plan) == (OtherEvent("SetLicense", terms) if terms else UNSTATED["SetLicense"])


@pytest.mark.parametrize(
    ("format_", "step"),
    [
        (Format.CSV, "ReadStepCsv"),
        (Format.JSON, "ReadStepJson"),
        (Format.JSONL, "ReadStepNdJson"),
        (Format.ANY_JSON, "ReadStepNdJson"),
        (Format.PARQUET, "ReadStepParquet"),
        (Format.ORC, None),
        (Format.AVRO, None),
    ],
)
def test_how_deliveries_are_read(format_: Format, step: str | None) -> None:
    """By ODF's step of the format, with the contract's columns; ORC and Avro have none."""
    found = source_event(replace(PLAN, storage=Storage(format_)), FIELDS)

    assert (None if found is None else found.value["read_type"]) == step
    assert found is None or found.value["read"]["schema"] == {"fields": [ID]}


def test_no_step_reads_lines_above_a_header() -> None:
    """ODF cannot skip them: a step would state that a title is the header."""
    assert source_event(replace(PLAN, csv=Csv(skip_rows=1)), FIELDS) is None


def test_where_the_records_of_a_json_object_stand() -> None:
    """ODF has the path in the same form."""
    found = source_event(replace(PLAN, storage=Storage(Format.JSON, records="result.items")), FIELDS)

    assert found is not None
    assert found.value["read"] == {"schema": {"fields": [ID]}, "sub_path": "result.items"}


@pytest.mark.parametrize(("nulls", "stated"), [((), {}), (("-",), {"null_value": "-"}), (("-", "NA"), {})])
def test_the_dialect_of_csv(nulls: tuple[str, ...], stated: dict[str, str]) -> None:
    """As the contract has it; of several words for null, ODF can have none."""
    plan = replace(PLAN, csv=Csv(";", "'", header=False, encoding="iso-8859-1", null_values=nulls))
    found = source_event(plan, FIELDS)
    dialect = {"separator": ";", "encoding": "iso-8859-1", "quote": "'", "escape": "'", "header": False}

    assert found is not None
    assert found.value["read"] == {**dialect, **stated, "schema": {"fields": [ID]}}


def test_how_rows_are_merged() -> None:
    """Every strategy of contracts has one of ODF; those with a primary key state it."""
    assert {each.value for each in MergeStrategy} <= set(odf_export.MERGES)
    policy = Policy(merge_strategy=MergeStrategy.LEDGER, merge_key=("id", "at"))
    upserts = replace(policy, merge_strategy=MergeStrategy.UPSERT)
    appended, merged, upserted = (
        source_event(replace(PLAN, policy=each), FIELDS) for each in (PLAN.policy, policy, upserts)
    )

    assert appended is not None
    assert merged is not None
    assert upserted is not None
    assert (upserted.value["merge_type"], upserted.value["merge"]) == (
        "MergeStrategyUpsertStream",
        {"primary_key": ["id", "at"]},
    )
    assert (appended.value["merge_type"], appended.value["merge"]) == ("MergeStrategyAppend", {})
    assert (merged.value["merge_type"], merged.value["merge"]) == ("MergeStrategyLedger", {"primary_key": ["id", "at"]})


@pytest.mark.parametrize(
    ("columns", "event_time", "compared"),
    [(("name", "at"), None, {}), (("name", "at"), "at", {"compare_columns": ["name"]}), (("at",), "at", {})],
)
def test_what_is_compared_of_snapshots(
    columns: tuple[str, ...], event_time: str | None, compared: dict[str, Any]
) -> None:
    """All columns, but the one that has their time; ODF knows no empty list of them."""
    policy = Policy(merge_strategy=MergeStrategy.SNAPSHOT, merge_key=("id",), event_time=event_time)
    found = source_event(replace(PLAN, policy=policy), (*FIELDS, *(field(each, "String") for each in columns)))

    assert found is not None
    assert (found.value["merge_type"], found.value["merge"]) == (
        "MergeStrategySnapshot",
        {"primary_key": ["id"], **compared},
    )


PULLED = replace(
    PLAN, policy=replace(PLAN.policy, pull=Pull("https://data.example.com/ids.csv", "rate(1 hour)", "own"))
)


def test_what_is_pulled_has_a_polling_source() -> None:
    """With its address, and without the name of its secret."""
    pushed, pulled = (source_event(each, FIELDS) for each in (PLAN, PULLED))

    assert pushed is not None
    rest = {name: value for name, value in pushed.value.items() if name != "source_name"}
    fetch = {"fetch_type": "FetchStepUrl", "fetch": {"url": "https://data.example.com/ids.csv"}}
    assert pulled == OtherEvent("SetPollingSource", {**fetch, **rest})
    packed = Pull("https://data.example.com/ids.ZIP", "rate(1 hour)", member="data/*.csv")
    unpacked = source_event(replace(PLAN, policy=replace(PLAN.policy, pull=packed)), FIELDS)
    assert unpacked is not None
    step = {"value_type": "PrepStepDecompress", "value": {"format": "Zip", "sub_path": "data/*.csv"}}
    assert unpacked.value["prepare"] == [step]
    for each in (pulled, unpacked):
        block = MetadataBlock(Moment(2026, 331, 0, 0), None, 0, each)
        assert block_in(block_bytes(block)) == block


def test_a_dataset_is_pulled_or_pushed() -> None:
    """A source that another kind replaces is disabled first; one that stays is not stated again."""
    found = [PLAN, PLAN, PULLED, PULLED, PLAN]
    blocks = stored(*(sliced(at, "2026-11-20T10:00:00Z", plan=each) for at, each in enumerate(found)))
    plans = {each.digest: each.to_bytes() for each in found}
    written = odf_blocks(blocks, lambda _: tuple(FIELDS), lambda block: plans[block.plan])
    kinds = [getattr(block_in(each.body).event, "kind", "") for each in written]

    assert [each for each in kinds if "Source" in each] == [
        *("AddPushSource", "DisablePushSource", "SetPollingSource"),
        *("DisablePollingSource", "AddPushSource"),
    ]


def test_only_the_plan_that_the_block_names_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its digest, and of no more bytes than an import reads."""
    block, text = sliced(0, "2026-11-20T10:00:00Z", plan=PLAN), PLAN.to_bytes()
    assert [each.kind for each in describe_plan(block, text, FIELDS)] == ["SetInfo", "SetLicense", "AddPushSource"]
    with pytest.raises(InputError, match="is not the one that it names"):
        list(describe_plan(block, text + b" ", FIELDS))
    monkeypatch.setattr(odf_export, "LONGEST_PLAN", len(text) - 1)
    with pytest.raises(InputError, match="has more than"):
        list(describe_plan(block, text, FIELDS))


PLANS = [
    PLAN,
    replace(PLAN, about=DatasetAbout("Visits", ("shop",), LICENSE)),
    replace(PLAN, about=DatasetAbout("Visits", ("shop",), License("Our terms"))),
    replace(plan_of({"id": "integer", "note": "string"}), about=DatasetAbout("Visits")),
    replace(PLAN, storage=Storage(Format.AVRO)),
]
BY_DIGEST = {each.digest: each for each in PLANS}


def columns(block: Block) -> tuple[dict[str, Any], ...]:
    return (*FIELDS, *(field(each.name, "String") for each in BY_DIGEST[block.plan].columns[1:]))


def a_chain(plans: list[Plan]) -> list[Any]:
    """Deliveries under these plans; each a third has no slice."""
    blocks, offset = [], 0
    for number, plan in enumerate(plans):
        times = () if number % 3 == 2 else ("2026-11-20T10:00:00Z",)
        blocks.append(sliced(offset, *times, plan=plan))
        offset += len(times)
    return stored(*blocks)


@given(st.lists(st.sampled_from(PLANS), min_size=1, max_size=12))
def test_what_holds_at_a_slice_is_what_its_plan_states(plans: list[Plan]) -> None:
    """Whatever versions follow one another, back and forth: the last event of each kind is that of the plan of the slice.

    A plan is attached where it is another one than before, and an event is written where it says something else.
    """
    chain = a_chain(plans)
    written = [
        block_in(each.body).event for each in odf_blocks(chain, columns, lambda each: BY_DIGEST[each.plan].to_bytes())
    ]
    sliced_plans = iter([plan for number, plan in enumerate(plans) if number % 3 != 2])
    held: dict[str, Any] = dict(UNSTATED)
    attached = b""
    for event in written:
        match event:
            case OtherEvent(kind):
                assert held.get(kind) != event
                held[kind] = event
            case SetDataSchema(fields):
                held["schema"] = fields
            case SetAttachments():
                assert attached != plan_in(event)
                attached = plan_in(event) or attached
            case AddData():
                plan = next(sliced_plans)
                digest = hashlib.sha256(attached).hexdigest()
                assert digest == plan.digest
                assert (held["SetInfo"], held["SetLicense"]) == (info_event(plan), license_event(plan))
                source = source_event(plan, held["schema"])
                assert source is None or held["AddPushSource"] == source
    assert next(sliced_plans, None) is None

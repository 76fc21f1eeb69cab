"""What the plan of a line states, as events of ODF: description, licence, and how its data is read and merged."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.model.policy import MergeStrategy
from lakegate.contracts.model.storage import Format
from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.odf.metadata import OtherEvent
from lakegate.contracts.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.model.policy import Policy

SOURCE: Final = "default"
"""The name of a line's source: a line has one."""
NO_LICENSE: Final = {"short_name": "NOASSERTION", "name": "No licence is stated", "spdx_id": "NOASSERTION"}
"""Of a contract that stated a licence before (SPDX's word for it)."""
_STEPS: Final = {
    Format.CSV: "ReadStepCsv",
    Format.JSON: "ReadStepJson",
    Format.JSONL: "ReadStepNdJson",
    Format.ANY_JSON: "ReadStepNdJson",
    Format.PARQUET: "ReadStepParquet",
}
"""ODF has no step for ORC and Avro."""
MERGES: Final = {
    "append": "MergeStrategyAppend",
    "ledger": "MergeStrategyLedger",
    "snapshot": "MergeStrategySnapshot",
}
"""By the name of the strategy in contracts."""


UNSTATED: Final = {
    "SetInfo": OtherEvent("SetInfo", {}),
    "SetLicense": OtherEvent("SetLicense", {**NO_LICENSE, "website_url": ""}),
}
"""What holds before the first event of a kind."""
LONGEST_PLAN: Final = 8 << 20
"""Bytes; a block has 16 MiB at the most."""


def named_plan(block: Block, text: bytes) -> Plan:
    """The plan that a block names. InputError where the text is not that plan."""
    if len(text) > LONGEST_PLAN:
        raise InputError(f"the plan of the block {block.height} has more than {LONGEST_PLAN:,} bytes")
    if hashlib.sha256(text).hexdigest() != block.plan:
        raise InputError(f"the plan of the block {block.height} is not the one that it names")
    return Plan.from_bytes(text)


def described(block: Block, text: bytes, fields: Sequence[Mapping[str, Any]]) -> Iterator[OtherEvent]:
    """The events of the plan that a block names. InputError where the text is not that plan."""
    plan = named_plan(block, text)
    source = source_event(plan, fields)
    yield from (info_event(plan), license_event(plan), *(() if source is None else (source,)))


def info_event(plan: Plan) -> OtherEvent:
    """Description and keywords."""
    about = plan.about
    if about is None:
        return UNSTATED["SetInfo"]
    stated = {"description": about.description, "keywords": list(about.keywords)}
    return OtherEvent("SetInfo", {name: value for name, value in stated.items() if value})


def license_event(plan: Plan) -> OtherEvent:
    """The licence."""
    found = plan.about.license if plan.about else None
    if found is None:
        return UNSTATED["SetLicense"]
    spdx = {"spdx_id": found.spdx} if found.spdx else {}
    named = {"short_name": found.short_name or found.spdx or found.name, "name": found.name}
    return OtherEvent("SetLicense", {**named, **spdx, "website_url": found.url})


def source_event(plan: Plan, fields: Sequence[Mapping[str, Any]]) -> OtherEvent | None:
    """How deliveries are read and merged; None where ODF does not have it. `fields`: the columns of a slice."""
    step, merge = _STEPS.get(plan.storage.format), MERGES[plan.policy.merge_strategy.value]
    if step is None:
        return None
    own = [each for each in fields if each["name"] not in COMMON]
    key, schema = _key(plan.policy, [str(each["name"]) for each in own]), {"fields": own}
    read = {**(_csv(plan) if step == "ReadStepCsv" else {}), "schema": schema}
    event = {"source_name": SOURCE, "read_type": step, "read": read, "merge_type": merge, "merge": key}
    return OtherEvent("AddPushSource", event)


def _key(policy: Policy, names: list[str]) -> dict[str, Any]:
    """What a merge strategy has: the primary key, and what is compared of snapshots, where their time is in a column."""
    key = {"primary_key": list(policy.merge_key)} if policy.merge_key else {}
    compared = [each for each in names if each not in {*policy.merge_key, policy.event_time}]
    is_dated = policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.event_time is not None
    return {**key, "compare_columns": compared} if is_dated and compared else key


def _csv(plan: Plan) -> dict[str, Any]:
    """A quote in a quoted value is written twice."""
    csv = plan.csv
    encoding = "utf8" if csv.encoding == "utf-8" else csv.encoding
    null = {"null_value": csv.null_values[0]} if len(csv.null_values) == 1 else {}
    found = {"separator": csv.delimiter, "encoding": encoding, "quote": csv.quote, "escape": csv.quote}
    return {**found, "header": csv.header, **null}

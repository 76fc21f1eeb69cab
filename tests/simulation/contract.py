"""The contract of the simulated deliveries: two versions of a small plan, what a job measures, and the expected verdicts.

The use cases read and judge these plans with the code of contracts/. The expectations are written down a second time here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from functools import cache, lru_cache

import pytest

from lakegate.admission import refusals
from lakegate.cli.datasets import chain_proofs
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.gate.delivery import admit_delivery, clean_up, decide_verdict
from lakegate.gate.ledger import blocks, verification
from lakegate.gate.ledger.blocks import Block, Record
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present
from lakegate.plan.result import Measured, Measurement, Result
from lakegate.verdict import verdict
from lakegate.verdict.verdict import Judgement

ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
VERDICTS = {"good": "accepted", "split": "accepted_with_warnings", "bad": "rejected", "": "rejected"}
"""By the first word of a file; `mild` is accepted by 1.0.0 only, `error` cannot be measured, `%PDF` is refused at the door."""
ACCEPTED = frozenset({"accepted", "accepted_with_warnings"})
REMEMBERED = 50_000
"""Results, and their judgements."""
NOT_JUDGED = frozenset(
    {
        "workload",
        "attempt",
        "plan_digest",
        "source_version",
        "engines",
        "timings",
        "vcpu_seconds",
        "cost",
        "typed_files",
        "rejected_files",
        "derived",
    }
)
JUDGED = tuple(each.name for each in fields(Result) if each.name not in NOT_JUDGED)
"""The members of a result that a judgement may depend on."""
read_json = lru_cache(10_000)(json.loads)
"""A document as read from its text; shared by all who read it, so nobody may change it."""


def plan_version(version: str, most: int) -> Plan:
    """A plan that rejects rows without a value, and deliveries whose amounts sum up to more than `most`."""
    fields = (PlanField("name", "c0", LogicalType.STRING), PlanField("amount", "c1", LogicalType.INTEGER))
    name = Check("name", "name", "required", ("name",), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, Present("name")))
    bound = Tier(Interval(high=Decimal(most)))
    amount = Check("amount", "amount", "sum", ("amount",), Metric.SUM, Unit.VALUE, bound)
    policy = Policy(on_reject=OnReject.ROWS, quarantine_days=30)
    return Plan("orders", version, "lines", fields, (name, amount), policy=policy, csv=Csv(header=False))


def measurements_of(body: bytes) -> tuple[Measurement, ...]:
    """What the job measures of a file, for both checks."""
    content = kind(body)
    failing, amount = {"good": (0, 0), "split": (1, 0), "mild": (0, 1), "bad": (1, 2)}.get(content, (0, None))
    if amount is None:
        return tuple(Measurement(check, error="the engine failed") for check in ("name", "amount"))
    rows = len(body)
    return Measurement("name", Measured(rows, failing)), Measurement("amount", Measured(rows, number=float(amount)))


@contextmanager
def results_remembered() -> Iterator[None]:
    """Equal plans and results are validated and judged once: schedules repeat few, and that takes half of their time.

    Reports are not rendered, for the same reason: what they show is tests/unit/gate/delivery/test_delivery_report.py's subject.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "from_bytes", lru_cache(REMEMBERED)(Plan.from_bytes))
        patch.setattr(Result, "from_bytes", lru_cache(REMEMBERED)(Result.from_bytes))
        patch.setattr(verification, "from_json", lru_cache(REMEMBERED)(blocks.from_json))
        patch.setattr(chain_proofs, "verifies", lru_cache(REMEMBERED)(chain_proofs.verifies))
        patch.setattr(decide_verdict, "judge", _remembering(verdict.judge))
        patch.setattr(admit_delivery, "refusals", lru_cache(REMEMBERED)(refusals.refusals))
        patch.setattr(clean_up, "page_of", lambda _, delivery: delivery.id)
        yield


def _remembering(judge: Callable[[Plan, Result], Judgement]) -> Callable[[Plan, Result], Judgement]:
    """The same with a bounded memory, of the parts of a result that may differ but ids, times and what it cost.

    Equal plans are one object each here, whose id is a key as long as it is kept.
    """
    known: dict[object, tuple[Plan, Judgement]] = {}

    def remembered(plan: Plan, result: Result) -> Judgement:
        at = id(plan), tuple([getattr(result, name) for name in JUDGED])
        if at not in known:
            if len(known) == REMEMBERED:
                known.clear()
            known[at] = plan, judge(plan, result)
        return known[at][1]

    return remembered


def block_digest(block: Block) -> str:
    """SHA3-256 over the canonical form, written a second time from docs/ledger.md."""
    document = {
        "chain": block.chain,
        "contract_version": block.contract_version,
        "event_time": block.event_time,
        "format": "lakegate-block/1",
        "height": block.height,
        "kind": block.kind,
        "objects": [
            {"checksum": o.checksum, "key": o.key, "size": o.size, "version": o.version} for o in block.objects
        ],
        "plan": block.plan,
        "previous": block.previous,
        "rejected_rows": block.rejected_rows,
        "rows": block.rows,
        "system_time": block.system_time,
        "verdict": block.verdict,
        "workload": block.workload,
    }
    if block.slices is not None:
        names = ("event_time", "key", "logical", "offset", "physical", "rows", "system_time")
        listed = [{name: getattr(each, name) for name in names} for each in block.slices]
        document |= {"slices": listed}
    if block.table is not None:
        document |= {"table": [{"key": each.key, "rows": each.rows} for each in block.table]}
    if block.rejected_table is not None:
        document |= {"rejected_table": [{"key": each.key, "rows": each.rows} for each in block.rejected_table]}
    if block.watermark is not None:
        document |= {"watermark": block.watermark}
    if block.result is not None:
        document |= {"result": block.result}
    if block.engines is not None:
        document |= {"engines": dict(block.engines)}
    if block.supersedes:
        document |= {"supersedes": list(block.supersedes)}
    if block.waiver is not None:
        names = ("actor", "expires", "reason", "rejected")
        document |= {"waiver": {each: getattr(block.waiver, each) for each in names}}
    return hashlib.sha3_256(ENCODE(document).encode()).hexdigest()


def record_digest(record: Record) -> str:
    """Likewise of a record."""
    document = {
        "actor": record.actor,
        "chain": record.chain,
        "content": record.content,
        "event": record.event,
        "format": "lakegate-block/1",
        "height": record.height,
        "kind": record.kind,
        "previous": record.previous,
        "system_time": record.system_time,
    }
    return hashlib.sha3_256(ENCODE(document).encode()).hexdigest()


@lru_cache(10_000)
def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


PLAN = plan_version("1.0.0", 1)
PLANS = {"1.0.0": PLAN.to_bytes(), "1.1.0": plan_version("1.1.0", 0).to_bytes()}
DIGESTS = {version: digest(body) for version, body in PLANS.items()}
VERSION_OF = {address: version for version, address in DIGESTS.items()}


def kind(body: bytes) -> str:
    return body.partition(b":")[0].decode()


@cache
def truth(address: str, body: bytes) -> str:
    """The verdict that this plan and these bytes must end in."""
    content = kind(body)
    if content == "mild":
        return "rejected" if VERSION_OF[address] == "1.1.0" else "accepted"
    if content == "%PDF":
        return "refused"
    return VERDICTS.get(content, "undecided")

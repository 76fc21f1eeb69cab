"""A small honest judge of its own: what files say, what two contract versions make of it, and what is true."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.states import PUSH, read
from lakegate.functions.usecases.dependencies import Meaning, Terms

if TYPE_CHECKING:
    from lakegate.contracts.lake.ledger import Block

ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
VERDICTS = {"good": "accepted", "split": "accepted_with_warnings", "bad": "rejected", "": "rejected"}
"""By the first word of a file; `mild` is accepted by 1.0.0 only, `error` cannot be measured, `junk` fails at the door."""


read_json = lru_cache(10_000)(json.loads)
"""A document as read from its text; shared by all who read it, so nobody may change it."""


def plan_of(version: str, strictness: int) -> bytes:
    document = {"version": version, "strictness": strictness, "workflow": PUSH.to_json()}
    return json.dumps(document, sort_keys=True).encode()


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
    return hashlib.sha3_256(ENCODE(document).encode()).hexdigest()


@lru_cache(10_000)
def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


PLANS = {"1.0.0": plan_of("1.0.0", 0), "1.1.0": plan_of("1.1.0", 1)}
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
    if content == "junk":
        return "refused"
    return VERDICTS.get(content, "undecided")


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: str
    reasons: tuple[str, ...]
    counts: None = None


@cache
def terms(body: bytes) -> Terms:
    return Terms(".csv", by_rows=True, workflow=read(json.loads(body)["workflow"]))


def door(_plan: bytes, _size: int, first: bytes) -> tuple[str, ...]:
    return ("not-the-format",) if first.startswith(b"junk") else ()


def judge(plan: bytes, result: bytes) -> Judgement:
    document = read_json(result)
    if document["plan_digest"] != digest(plan):
        raise InputError("another plan's result")
    if document["measured"] is None:
        return Judgement("undecided", ("nothing-measured",))
    if document["rows"] == 0:
        return Judgement("rejected", ("empty",))
    verdict = truth(document["plan_digest"], document["measured"].encode())
    return Judgement(verdict, () if verdict == "accepted" else ("values",))


MEANING = Meaning(terms, door, judge)

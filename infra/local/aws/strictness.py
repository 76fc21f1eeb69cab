"""What an AWS of tests and of this machine refuses: reads that are wrong now and then on AWS, and schedules that AWS refuses.

Imported by the embedded AWS, too, in its own environment: the standard library alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

READS: Final = frozenset({"GetItem", "Query", "Scan"})
REFUSAL: Final = (
    "a read without ConsistentRead may miss the last writes: ask for a consistent one (aws: --consistent-read)"
)


def may_miss_writes(operation: str, parameters: Mapping[str, Any]) -> bool:
    """Whether DynamoDB may give a state of before; an index has no other reads, so that these are let through."""
    if operation == "BatchGetItem":
        return any(not each.get("ConsistentRead") for each in parameters.get("RequestItems", {}).values())
    return operation in READS and "IndexName" not in parameters and not parameters.get("ConsistentRead")


def refusal(target: str, body: bytes) -> bytes:
    """The answer to a request that is refused, by its header `x-amz-target`; empty where it is let through."""
    service, _, operation = target.partition(".")
    if not service.startswith("DynamoDB_") or operation not in {*READS, "BatchGetItem"}:
        return b""
    try:
        may_miss = may_miss_writes(operation, json.loads(body))
    except (ValueError, AttributeError):  # of another form: the service says so
        return b""
    error = {"__type": "com.amazon.coral.validate#ValidationException", "message": REFUSAL}
    return json.dumps(error).encode() if may_miss else b""


# ---- Schedules (EventBridge Scheduler user guide, "Schedule types") ----


RATE: Final = re.compile(r"rate\((?:1 (?:minute|hour|day)|(?!1 )[1-9]\d* (?:minutes|hours|days))\)")
CRON: Final = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")
FIELDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (1, 7), (1970, 2199))
"""The least and the largest number of minutes, hours, days of a month, months, days of a week and years."""
UNUSED: Final = "?"


def is_schedule(expression: str) -> bool:
    """Whether Scheduler takes an expression: a rate, or six fields of which one of both kinds of days says nothing."""
    found = CRON.fullmatch(expression)
    if found is None:
        return RATE.fullmatch(expression) is not None
    numbers = (re.findall(r"(?<![/#\d])\d+", each) for each in found.groups())
    within = all(low <= int(one) <= high for (low, high), each in zip(FIELDS, numbers, strict=True) for one in each)
    return within and (found[3] == UNUSED) != (found[5] == UNUSED)

"""Reads that an AWS of tests and of this machine refuses: AWS takes them, and they are wrong there now and then.

Imported by the embedded AWS, too, in its own environment: the standard library alone.
"""

from __future__ import annotations

import json
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

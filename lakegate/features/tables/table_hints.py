"""Events of the stack's own bus, as hints that a table is to be kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lakegate.aws.lambda_events import (
    RefusalReason,
    Unintelligible,
    UnintelligibleError,
    parse_object,
    require,
    text_at,
)
from lakegate.aws.wiring import SOURCE

ROWS_ERASED: Final = "rows erased"
"""The detail type of the hint of `lakegate erase`, which is sent to the queue and to no bus."""
KINDS: Final = {
    "workload published": "detail.body.line",
    "line recalled": "detail.line",
    "line restored": "detail.line",
    ROWS_ERASED: "detail.line",
}
"""Detail types of events after which a table shows other rows, each with the place of the dataset's name."""


def dataset_in(record: Mapping[str, Any]) -> str | Unintelligible:
    """The dataset that the event in a message of SQS is about. What its table lacks is read from the ledger."""
    try:
        event = parse_object(record["body"])
        require(event, "source", {SOURCE}, RefusalReason.FOREIGN_SOURCE)
        kind = require(event, "detail-type", KINDS, RefusalReason.UNKNOWN_KIND)
        return text_at(event, KINDS[kind])
    except UnintelligibleError as refused:
        return Unintelligible(refused.reason, refused.path)


def hint_of_erasure(dataset: str) -> str:
    """The body of the message that rows of a dataset were erased."""
    return json.dumps({"source": SOURCE, "detail-type": ROWS_ERASED, "detail": {"line": dataset}})

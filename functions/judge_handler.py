"""The judge function: one attempt of a small delivery, with the address of its request.json in the event."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Protocol

from lakegate.job.judge_function import JudgeError, evaluate_request

LOG = logging.getLogger("lakegate.judge")


class Context(Protocol):
    """Lambda's context of an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function is stopped."""
        ...


def handler(event: Mapping[str, object], context: Context) -> dict[str, object]:
    """Evaluate a delivery. What is returned goes to the log and to the queue, and holds no text of contract or producer."""
    about = {"workload": event["workload"], "attempt": event["attempt"]}
    try:
        found = evaluate_request(str(event["request"]), lambda: context.get_remaining_time_in_millis() / 1000)
    except Exception as error:  # noqa: BLE001 - the runtime would log it whole, with values of the data
        LOG.error(json.dumps({**about, "error": type(error).__name__}))  # noqa: TRY400 - likewise
        raise JudgeError(type(error).__name__) from None
    LOG.info(json.dumps({**about, "answer": found}))
    return {**about, "answer": found}

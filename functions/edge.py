"""What the handlers share: one gate for the life of a Lambda, and batches whose messages fail alone.

A message fails alone: SQS gives it again, and after as many times as its queue allows puts it into the dead-letter
queue. Why it failed stands in its log line under `reason` (a document that cannot be understood) or `error`, with the
message's id; the metrics `Unintelligible` and `Errors` count them. A message of several records is failed after all of
them were looked at, so that one bad record keeps none from being taken in.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from functions.bootstrap import bootstrap
from functions.events import Decoded, JobMoved, Nothing, ObjectSeen, Unintelligible, decode
from functions.logs import of_error, of_key
from functions.ports import Unfinished
from functions.settings import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.usecases.gate import Gate

NAMESPACE: Final = "Lakegate"


class Remaining:
    """How many seconds the invocation under way has left."""

    def __init__(self) -> None:
        self.context: LambdaContext | None = None

    def __call__(self) -> float:
        """Seconds; without an invocation, as many as one likes."""
        return self.context.get_remaining_time_in_millis() / 1000 if self.context else float("inf")


REMAINING: Final = Remaining()


class HandlerError(Exception):
    """What leaves a handler: the name of what went wrong, and none of its text."""


@cache
def gate() -> Gate:
    """The gate of this Lambda, made at its first invocation."""
    return bootstrap(read(os.environ), REMAINING)


def metrics(function: str) -> Metrics:
    """The metrics of one function: counted by service, never by key."""
    return Metrics(namespace=NAMESPACE, service=function)


def batch(
    event: Mapping[str, Any], act: Callable[[Any], object], wanted: type[Decoded], log: Logger, count: Metrics
) -> dict[str, Any]:
    """Answer a batch of SQS: `act` on every hint of the wanted kind; the ids of the messages to be given again."""
    failed = [record["messageId"] for record in event["Records"] if not _done(record, act, wanted, log, count)]
    count.add_metric("Messages", MetricUnit.Count, len(event["Records"]))
    count.add_metric("Failed", MetricUnit.Count, len(failed))
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}


def contained(act: Callable[[], Any], log: Logger, count: Metrics) -> Any:  # noqa: ANN401 - as the act
    """What an act answers. Whatever it raises is logged without its text, and leaves as a HandlerError.

    Unfinished is no error: the copy goes on in the next invocation, and the message comes again.
    """
    try:
        return act()
    except Unfinished:
        log.info("unfinished")
        count.add_metric("Unfinished", MetricUnit.Count, 1)
        raise
    except Exception as error:  # noqa: BLE001 - the runtime would log it whole, with what producers wrote
        log.error("failed", extra=of_error(error))  # noqa: TRY400 - its traceback repeats that text
        count.add_metric("Errors", MetricUnit.Count, 1)
        raise HandlerError(type(error).__name__) from None


def told(what: str, troubles: Sequence[BaseException], log: Logger, count: Metrics) -> int:
    """Log and count what a use case met with and went on from."""
    for trouble in troubles:
        log.error(what, extra=of_error(trouble))
    count.add_metric(what, MetricUnit.Count, len(troubles))
    return len(troubles)


def _done(record: Mapping[str, Any], act: Callable[[Any], object], wanted: type, log: Logger, count: Metrics) -> bool:
    log.append_keys(message_id=record["messageId"])
    try:
        taken = [_taken(hint, act, wanted, log, count) for hint in decode(record["body"])]
        return all(taken)
    finally:
        log.remove_keys(["message_id"])


def _taken(hint: Decoded, act: Callable[[Any], object], wanted: type, log: Logger, count: Metrics) -> bool:
    if isinstance(hint, Nothing):
        return True
    if not isinstance(hint, wanted):
        reason = hint.reason if isinstance(hint, Unintelligible) else "misrouted"
        log.error("unintelligible", extra={"reason": str(reason), "at": getattr(hint, "path", "$")})
        count.add_metric("Unintelligible", MetricUnit.Count, 1)
        return False
    try:
        contained(lambda: act(hint), log, count)
    except (HandlerError, Unfinished):
        return False
    log.info("taken", extra=_said(hint))
    return True


def _said(hint: object) -> Mapping[str, str]:
    if isinstance(hint, ObjectSeen):
        return of_key(hint.key)
    return {"run": hint.job_run, "run_state": hint.state} if isinstance(hint, JobMoved) else {}

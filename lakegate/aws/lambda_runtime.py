"""Shared by handlers: batch failures, metrics, logs without data."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit, single_metric

from lakegate.aws.lambda_events import InvocationEnded, JobMoved, ObjectSeen, RefusalReason, Unintelligible, decode
from lakegate.aws.settings import PREFIX, read
from lakegate.aws.wiring import bootstrap
from lakegate.base.errors import LakegateError, SetUpError, Unfinished
from lakegate.base.json_codec import encode, sha256_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from lakegate.gate.scheduled_tasks import Turn


# ---- Log lines ----
# Keys are the producer's text: they can hold line breaks, escape sequences, and names of people. A log line carries their shape
# and a fingerprint, by which an operator who knows a key finds its lines. Of an error it carries the words only if they are
# ours; of any other its type and place, because its message may repeat what the producer wrote.


LONGEST_SHAPE: Final = 120
"""Characters of a shape; an object key has up to 1,024 bytes."""
FINGERPRINT: Final = 16
KEPT: Final = frozenset("/.-_=")


def shape(text: str) -> str:
    """Letters become `a` or `A`, digits `9`, a few signs stay, all else is `?`: one line of ASCII, of bounded length."""
    masked = "".join(map(_masked, text[:LONGEST_SHAPE]))
    return masked if len(text) <= LONGEST_SHAPE else masked + "+"


def fingerprint(text: str) -> str:
    """The first digits of the SHA-256 of the text."""
    return sha256_of(text)[:FINGERPRINT]


def of_key(key: str) -> Mapping[str, str]:
    """The fields of a log line for an object key."""
    return {"key_shape": shape(key), "key_fingerprint": fingerprint(key)}


def of_error(error: BaseException) -> Mapping[str, str]:
    """The fields of a log line for an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = [f"{Path(each.filename).name}:{each.lineno}" for each in frame]
    text = str(error) if isinstance(error, LakegateError) else ""
    return {"error": type(error).__name__, "place": "".join(place), "detail": text}


def logger(function: str) -> Logger:
    """The logger of one function: one JSON object a line, in ASCII."""
    return Logger(service=function, json_serializer=json.dumps, use_rfc3339=True, utc=True)


def _masked(character: str) -> str:
    if character in KEPT:
        return character
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "9" if character.isdecimal() else "?"


# ---- The base of the handlers ----
# A message fails alone: SQS delivers it again, and after as many times as its queue allows moves it to the dead-letter queue.
# Its log line holds why it failed, under `reason` (an event that cannot be understood) or `error`, with the message's id; the
# metrics `Unintelligible` and `Errors` count them. Powertools' batch processor would replace one line of `batch` (reasons, counts
# and log lines are the record handler's there, too), and take 70 ms of CPU at a cold start for 87 modules.


NAMESPACE: Final = "Lakegate"
STACK: Final = f"{PREFIX}STACK"
"""Read before the settings are, because a handler counts from its first line on."""
INVOCATION: Final[ContextVar[LambdaContext | None]] = ContextVar("invocation", default=None)
"""The invocation under way: every handler sets it."""


def remaining() -> float:
    """The seconds that the invocation under way has left; infinitely many without one."""
    context = INVOCATION.get()
    return context.get_remaining_time_in_millis() / 1000 if context else float("inf")


class HandlerError(Exception):
    """The error that leaves a handler: the name of the fault, and none of its text."""


@cache
def dependencies() -> Dependencies:
    """The adapters of this Lambda, made at its first invocation."""
    return bootstrap(read(os.environ), remaining)


def metrics(function: str) -> Metrics:
    """The metrics of one function: counted by stack and service, never by key."""
    made = Metrics(namespace=NAMESPACE, service=function)
    made.set_default_dimensions(stack=os.environ.get(STACK, NAMESPACE))
    return made


@dataclass(frozen=True, slots=True)
class VerifiedCaller:
    """Identity: the caller of a function, as the AWS service that called it has verified it."""

    name: str

    def caller(self) -> str:
        """The ARN, the issuer and subject of a token, the id of a role or user, or a service."""
        return self.name


def hints(wanted: type | UnionType) -> Callable[[Mapping[str, Any]], object]:
    """Decodes the messages of a queue of events that has hints of the wanted kinds."""

    def hint_of(record: Mapping[str, Any]) -> object:
        hint = decode(record["body"])
        return hint if isinstance(hint, wanted | Unintelligible) else Unintelligible(RefusalReason.MISROUTED, "$")

    return hint_of


def batch(
    event: Mapping[str, Any],
    act: Callable[[Any], object],
    hint_of: Callable[[Mapping[str, Any]], object],
    log: Logger,
    count: Metrics,
) -> dict[str, Any]:
    """Process a batch of SQS: `act` on the hint of each record. Returns the ids of the messages to deliver again."""
    failed = [record["messageId"] for record in event["Records"] if not _is_done(record, act, hint_of, log, count)]
    count.add_metric("Messages", MetricUnit.Count, len(event["Records"]))
    count.add_metric("Failed", MetricUnit.Count, len(failed))
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}


def sanitize_errors(act: Callable[[], Any], log: Logger, count: Metrics) -> Any:  # noqa: ANN401 - as the act
    """The result of an act. Any error is logged without its text, and raised as a HandlerError.

    Unfinished is not an error: the next invocation continues, when the message is delivered again.
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


def log_failures(what: str, failures: Sequence[BaseException], log: Logger, count: Metrics) -> int:
    """Log and count the errors that a use case collected without stopping."""
    for failure in failures:
        log.error(what, extra=of_error(failure))
    count.add_metric(what, MetricUnit.Count, len(failures))
    return len(failures)


def do_afterwards(
    made: Callable[[], Dependencies], act: Callable[[Dependencies], Steps[Turn]], log: Logger, count: Metrics
) -> None:
    """Do what a function does after its messages, which are done whatever comes of it, and report what they met.

    Where the adapters could not be made, the messages say why.
    """
    try:
        within = made()
    except SetUpError:
        return
    failures = [*within.run(act(within)).failures, *within.taken_out()]
    if failures:
        log_failures("StepFailures", failures, log, count)
    report_deliveries(within, log)


def report_deliveries(within: Dependencies, log: Logger) -> None:
    """Log what the deliveries wait for that were carried on; log and count buckets where judged objects could not be deleted.

    The metric is one of the stack, whichever function met it.
    """
    for workload, waiting in within.waits.items():
        if waiting is not None:
            log.info("waits", extra={"workload": workload, **encode(waiting)})
    within.waits.clear()
    for failure in within.denied_deletions():
        log.error("DeletionsDenied", extra=of_error(failure))
        count_once("DeletionsDenied", "gate")


def count_once(name: str, service: str) -> None:
    """Count one of a metric that is not the function's own, but of another service, or of the whole gate."""
    dimensions = {"stack": os.environ.get(STACK, NAMESPACE), "service": service}
    with single_metric(name, MetricUnit.Count, 1, namespace=NAMESPACE, default_dimensions=dimensions):
        pass


def _is_done(
    record: Mapping[str, Any],
    act: Callable[[Any], object],
    hint_of: Callable[[Mapping[str, Any]], object],
    log: Logger,
    count: Metrics,
) -> bool:
    log.append_keys(message_id=record["messageId"])
    try:
        hint = hint_of(record)
        if isinstance(hint, Unintelligible):
            log.error("unintelligible", extra={"reason": str(hint.reason), "at": hint.path})
            count.add_metric("Unintelligible", MetricUnit.Count, 1)
            return False
        sanitize_errors(lambda: act(hint), log, count)
        log.info("taken", extra=_log_fields(hint))
    except (HandlerError, Unfinished):
        return False
    finally:
        log.remove_keys(["message_id"])
    return True


def _log_fields(hint: object) -> Mapping[str, str]:
    if isinstance(hint, ObjectSeen):
        return of_key(hint.key)
    if isinstance(hint, InvocationEnded):
        return {"workload": hint.workload, "invocation": "failed" if hint.failed else "answered"}
    return {"run": hint.job_run, "run_state": hint.state} if isinstance(hint, JobMoved) else {}

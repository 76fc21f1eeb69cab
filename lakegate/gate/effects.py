"""Use cases as generators of effects, so that who performs an effect, when, and whether at all, is decided outside.

A use case reads freely and *yields* each effect as a Call; its caller performs the call and sends back the
answer, or throws what the port raised. In a Lambda `run` drives; in the simulation a scheduler does, which may stop a
worker before an effect, lose the answer, repeat the effect or delay it until everybody else has finished.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar

from lakegate.base.errors import LakegateError, Throttled, TransactionConflict
from lakegate.gate.ports import Clock

T = TypeVar("T")
P = ParamSpec("P")


class Effect(StrEnum):
    """Every change that Lakegate makes outside its own memory, in the order of the happy path, then the rarer ones.

    Waiting changes nothing but the time: it is one of them because others act meanwhile.
    """

    ANNOUNCE = "announce a delivery"
    HINT = "give intake the hint that an object landed"
    LINK = "link an announcement to its workload"
    NOTE_ARRIVAL = "note when an object of a folder was there"
    CLAIM = "claim the version"
    PIN = "pin contract and source"
    WRITE_PARTS = "write a list of parts"
    JOIN = "claim a part for its delivery"
    STAGE = "copy to staging"
    MARK_STAGED = "mark as staged"
    WRITE_REQUEST = "write request.json"
    RESERVE_START = "reserve the start of a job run"
    SUBMIT = "store attempt, token and request"
    JOIN_BATCH = "join a batch"
    CLOSE_BATCH = "close a batch"
    WRITE_BATCH = "write batch.json"
    LEAD_STARTS = "become the worker that makes the reserved starts"
    END_LEAD = "let another worker make them"
    START_JOB = "start the job run"
    MARK_BATCH = "store the run's id with its batch"
    START_VALIDATION = "start a validation by another service"
    PUT_OFF = "put the start of a job run off"
    MARK_STARTED = "store the run's id"
    WRITE_RESULT = "write result.json"
    KEEP_ANSWERS = "keep the result with what validators answered"
    ASK = "ask a person for approval"
    ANSWER = "store the answer of a person"
    SCHEDULE = "keep until its time what was judged"
    ENTER_STATE = "enter a state of a workflow's own that is left at once"
    DECIDE = "decide"
    COPY = "copy to the destination"
    RESERVE_COMMIT = "reserve a time for the commit to a busy chain"
    COMMIT = "commit: terminal state, block and message"
    SETTLE = "end a workload whose block the ledger has"
    WRITE_SEGMENT = "write a segment of the readers' manifest"
    WRITE_MANIFEST = "write the readers' manifest"
    MAKE_TABLE = "make the table of a dataset in the catalog"
    COMMIT_TABLE = "add a snapshot to the table of a dataset"
    DISCARD_METADATA = "delete a file of a table that no snapshot uses after an erasure"
    PUBLISH_SNAPSHOT = "make an accepted snapshot of a producer's table its main one"
    CLEAR_TABLE = "state that nothing of before an erasure is left of a table"
    MERGE_FILES = "write the rows of small files of a table into one"
    PUT_MERGED = "put a file into a table in the place of small ones"
    DELETE_SOURCE = "delete the judged version"
    DELETE_STAGING = "delete a staging copy, or rows of a split"
    WRITE_REPORT = "write report.html"
    ARCHIVE = "archive the row of a finished delivery"
    CLOSE = "close the workload"
    SEND = "send the message"
    MARK_SENT = "mark the message as sent"
    NOTIFY = "send a notification to a channel"
    KEEP_CALLBACK = "keep the hash of a token by which a receiver may answer"
    REFUSE = "decide at the door"
    HOLD = "hold a delivery of a paused dataset"
    PAUSE = "pause a dataset"
    RESUME = "resume a dataset"
    END_PAUSE = "end a pause"
    LEASE = "lease an open workload"
    CANCEL_JOB = "cancel the job run"
    WAIT = "wait until the next attempt may start"
    FAIL = "give up after the last attempt"
    VANISH = "record that the version is gone"
    REVIVE = "start a failed workload again"
    REPLAY = "create the replay of a quarantined workload"
    WAIVE = "create the workload of a waiver"
    KEEP_CURSOR = "keep the place in a listing"
    WRITE_OVERVIEW = "write the overview of all datasets"
    WRITE_DOCUMENT = "write a contract's document"
    WRITE_PLAN = "write a plan"
    PUBLISH = "publish a contract version"
    PROPOSE = "propose a contract version"
    DECLINE_PROPOSAL = "decline a proposed contract version"
    RECORD = "append a record to the ledger"
    WRITE_DATASET = "change a dataset's lifecycle or subscriptions"
    REPLACE = "replace an object by what an erasure leaves of it"
    ERASE = "delete a version for ever that an erasure replaced"
    WRITE_ROW = "store the row of what is done by schedule"
    REPORT = "report what happened to a dataset"
    ANCHOR = "keep an anchor of the ledger"
    BEGIN_UPLOAD = "begin to write an object in parts"
    LAND_PART = "write a part of an object"
    LAND = "land an object"
    END_UPLOAD = "give up an object that was begun"
    VALIDATE = "keep where a validation of another manager is"


@dataclass(slots=True)
class Call:
    """One effect, not yet performed. Performing it again must do no harm."""

    effect: Effect
    do: partial[Any]


Steps: TypeAlias = Generator[Call, Any, T]


class ConcurrentUpdate(LakegateError):  # noqa: N818 - the name is what happened
    """Another worker has advanced the workload; that worker or `sweep` continues."""


class Alarm(LakegateError):  # noqa: N818 - the name is what to do with it
    """Something that no retry solves and a person must look at; the workload stays where it is."""

    def __init__(self, code: str, workload: str) -> None:
        super().__init__(f"{code} @ {workload}")
        self.code = code
        self.workload = workload


class EndsWorkers(LakegateError):  # noqa: N818 - the name is what it does
    """Several workers took a workload and came to no end: it needs more memory or time than they have."""

    def __init__(self, workload: str) -> None:
        super().__init__(f"ends-its-worker @ {workload}")


class Defect(LakegateError):  # noqa: N818 - the name is what it is
    """An error that nothing of the project raises knowingly, at one workload or dataset: it stops none of the others."""

    def __init__(self, at: str, error: Exception) -> None:
        super().__init__(f"{type(error).__name__} @ {at}")
        self.with_traceback(error.__traceback__)


def perform(effect: Effect, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Steps[T]:
    """Hand one effect, `do` with its arguments, to the driver and pass on its answer."""
    answer: T = yield Call(effect, partial(do, *args, **kwargs))
    return answer


def guard_steps(failures: list[LakegateError], at: str, steps: Steps[T]) -> Steps[T | None]:
    """The steps of one of several rows; what they raise is added to `failures`, and stops none of the others."""
    try:
        return (yield from steps)
    except LakegateError as failure:
        failures.append(failure)
    except Exception as error:  # noqa: BLE001 - likewise
        failures.append(Defect(at, error))
    return None


RETRIES = 4


def run(steps: Steps[T], clock: Clock, jitter: Callable[[], float] = random.random) -> T:
    """Drive a use case to its end; a temporary refusal is retried after a jittered, doubling pause."""
    try:
        call = next(steps)
        while True:
            try:
                answer = patiently(call, clock, jitter)
            except Exception as refused:  # noqa: BLE001 - the use case knows what it stops
                call = steps.throw(refused)
            else:
                call = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def patiently(call: Call, clock: Clock, jitter: Callable[[], float] = random.random) -> object:
    """Perform one effect; what is still refused after the last retry is raised."""
    for retry in range(RETRIES):
        try:
            return call.do()
        except (Throttled, TransactionConflict):
            clock.sleep(jitter() * 0.1 * 2**retry)
    return call.do()

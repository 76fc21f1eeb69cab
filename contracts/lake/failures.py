"""Why attempts come to nothing."""

from __future__ import annotations

from enum import StrEnum


class FailureCause(StrEnum):
    """Why an attempt came to nothing. A code, never text of a producer's or of EMR's."""

    RUN_FAILED = "run-failed"
    RUN_CANCELLED = "run-cancelled"
    """By a person, or by its own time limit."""
    RUN_HUNG = "run-hung"
    """It still ran after its deadline; the gate cancelled it."""
    NOT_STARTED = "not-started"
    """It waited in the queue, or for capacity, until EMR Serverless or its deadline ended it, and never ran."""
    NO_RESULT = "no-result"
    """The run succeeded, or EMR does not know it, and there is no result.json."""
    WRONG_RESULT = "wrong-result"
    """result.json cannot be read, or belongs to another attempt."""
    UNDECIDED = "undecided"
    """A rule could not be measured."""
    ACCESS_DENIED = "access-denied"
    """The gate may not read what landed, or not use the KMS key that encrypts it. No run was started."""
    ARCHIVED = "archived"
    """What landed is in an archive storage class and has to be restored. No run was started."""
    TOKEN_TAKEN = "token-taken"  # noqa: S105 - a code
    """StartJobRun refused: the token was used with another request."""
    NO_ANSWER = "no-answer"
    """The judge function failed, or had no result at its deadline."""
    DOES_NOT_FIT = "does-not-fit"
    """The judge function cannot hold the delivery. Spark follows; it costs none of the round's attempts."""
    BATCH_FAILED = "batch-failed"
    """The run of its batch ended without a result for it. A smaller batch follows, and it costs no attempt."""
    OVERTAKEN = "overtaken"
    """Slices of another delivery of the line were decided first. Judged again from the next offset, and it costs no attempt."""
    NO_FUNCTION = "no-function"
    """The judge function does not exist any more. Spark follows, as above."""
    VALIDATOR_UNREACHABLE = "validator-unreachable"
    """A registered validator did not answer: when it was to start, or up to the attempt's deadline."""
    VALIDATOR_REFUSED = "validator-refused"
    """It refused the validation, does not know it, or could not carry it out; or the stack may not reach it."""
    VALIDATOR_LATE = "validator-late"
    """It had not finished at the deadline."""
    WRONG_ANSWER = "wrong-answer"
    """What it answered is no answer to the rules of this attempt."""
    NO_VALIDATOR = "no-validator"
    """None of the name that was pinned is registered for the technology any more."""


OF_VALIDATORS = frozenset(
    {
        FailureCause.VALIDATOR_UNREACHABLE,
        FailureCause.VALIDATOR_REFUSED,
        FailureCause.VALIDATOR_LATE,
        FailureCause.WRONG_ANSWER,
        FailureCause.NO_VALIDATOR,
    }
)
"""Causes that say nothing about the run of the attempt."""

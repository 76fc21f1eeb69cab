"""Why attempts came to nothing, in words."""

from __future__ import annotations

from lakegate.functions.workload import FailureCause

CAUSES = {
    FailureCause.RUN_FAILED: "its job run failed and left no result",
    FailureCause.RUN_CANCELLED: "its job run was cancelled, or reached its own time limit",
    FailureCause.RUN_HUNG: "its job run was still running after its time limit, and was cancelled",
    FailureCause.NOT_STARTED: "its job run waited for its turn until its time there was over (this does not count)",
    FailureCause.NO_RESULT: "its job run ended without a result",
    FailureCause.WRONG_RESULT: "its result cannot be read, or answers something else",
    FailureCause.UNDECIDED: "a rule could not be measured",
    FailureCause.ACCESS_DENIED: "its upload cannot be read: grant the gate s3:GetObjectVersion, and kms:Decrypt on its key",
    FailureCause.ARCHIVED: "its upload is in an archive storage class: restore it (RestoreObject), or upload it to S3 Standard",
    FailureCause.TOKEN_TAKEN: "its job run could not be started: the token was used before",
    FailureCause.NO_ANSWER: "its invocation of the judge function failed, or had no result in time",
    FailureCause.DOES_NOT_FIT: "its size or rules are beyond the judge function, so Spark follows (this does not count)",
    FailureCause.BATCH_FAILED: "its batch ended without its result, so a smaller batch follows (this does not count)",
    FailureCause.NO_FUNCTION: "its judge function does not exist any more, so Spark follows (this does not count)",
    FailureCause.OVERTAKEN: "its offset was taken by another delivery, so it is judged again (this does not count)",
    FailureCause.VALIDATOR_UNREACHABLE: "its validator did not answer (lakegate validator list)",
    FailureCause.VALIDATOR_REFUSED: "its validator refused the rules, or could not measure them",
    FailureCause.VALIDATOR_LATE: "its validator had not finished at the deadline",
    FailureCause.WRONG_ANSWER: "its validator answered something else than what was asked",
    FailureCause.NO_VALIDATOR: "its validator is not registered any more: lakegate validator add, or publish the contract again",
}
"""Why an attempt came to nothing."""

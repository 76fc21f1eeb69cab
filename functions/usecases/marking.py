"""The watermark of a line, set by a person: no event before a time is expected any more, whatever was delivered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.functions.ports.errors import ConditionFailed, TransactionConflict
from lakegate.functions.usecases.recording import TRIES, record_at_head
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

KIND = "watermark"
"""Of the record."""


def set_watermark(dependencies: Dependencies, line: str, at: datetime) -> Steps[str]:
    """Record and set the watermark of a line. Idempotent. Returns the watermark before; empty for none.

    Raises InputError for a line without slices, a time before the watermark or after now, and while a delivery is committed.
    """
    wanted = moment(at)
    if at > dependencies.clock.now():
        raise InputError(f"{wanted} is to come: a watermark never moves back, so a mistake could not be corrected")
    for _ in range(TRIES):
        found = dependencies.workloads.next_slice(line)
        if not found.offset:
            raise InputError(f"{line} has no slices yet: `publishAs: parquet` in its contract publishes some")
        if wanted < found.watermark:
            raise InputError(f"the watermark of {line} is {found.watermark}: it never moves back")
        if wanted == found.watermark:
            return found.watermark
        if found.writer:
            raise InputError(f"a delivery of {line} is decided and not committed yet: repeat the command in a minute")
        record = record_at_head(dependencies, KIND, line, {"watermark": wanted, "before": found.watermark})
        try:
            yield from perform(Effect.RECORD, partial(dependencies.ledger.mark, record, found))
        except ConditionFailed:
            continue
        return found.watermark
    raise TransactionConflict

"""The Lambda that keeps the tables of datasets at the top of the ledger: when an event names one, and all of them by schedule.

The schedule also puts small files together, where a contract asks for it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.lambda_runtime import (
    INVOCATION,
    HandlerError,
    batch,
    dependencies,
    log_failures,
    logger,
    metrics,
    sanitize_errors,
)
from lakegate.aws.settings import read
from lakegate.base.errors import LakegateError, Unfinished
from lakegate.features.tables.all_tables import SECONDS_OF_TABLE, AllTables, has_table, keep_all_tables
from lakegate.features.tables.compact_table import CompactedTable
from lakegate.features.tables.glue_tables import glue_tables
from lakegate.features.tables.keep_table import KeptTable, keep_table
from lakegate.features.tables.table_hints import dataset_in
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, run
from lakegate.gate.scheduled_tasks import Turn

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("table"), metrics("table")
TURNS: Final = 10
"""For a message, which is hidden for an hour and a half before it comes again: others may keep the same table meanwhile."""


@cache
def catalog() -> tuple[AllTables, ...]:
    """The tables of this stack, of each kind."""
    return glue_tables(read(os.environ))


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Keep the tables that messages of SQS name; without messages, those of all datasets, and end with an error if any failed."""
    INVOCATION.set(context)
    if "Records" in event:
        return batch(event, keep, dataset_in, LOG, METRICS)
    turn: Turn = sanitize_errors(_keep_all, LOG, METRICS)
    for _, kept in turn.ends:
        _count(kept)
    if log_failures("StepFailures", turn.failures, LOG, METRICS):
        raise HandlerError("StepFailures")
    return {"tables": turn.looked_at}


def keep(dataset: str) -> None:
    """Keep the tables of a dataset, if it has some. Raises Unfinished where one is not complete after some turns.

    One that fails does not stop the other.
    """
    gate, failures = dependencies(), list[LakegateError]()
    for tables in catalog():
        if has_table(gate, dataset, tables.kind):
            try:
                _keep(gate, tables, dataset)
            except LakegateError as failure:
                failures.append(failure)
    if failures:
        raise failures[0]


def _keep(gate: Dependencies, tables: AllTables, dataset: str) -> None:
    for _ in range(TURNS):
        with suppress(ConcurrentUpdate):
            kept = run(keep_table(gate, tables, dataset), gate.clock)
            _count(kept)
            if kept.is_complete:
                return
        if gate.remaining() < SECONDS_OF_TABLE:
            break
    raise Unfinished


def _keep_all() -> Turn:
    gate = dependencies()
    return run(keep_all_tables(gate, catalog()), gate.clock)


def _count(kept: KeptTable | CompactedTable) -> None:
    if isinstance(kept, CompactedTable):
        METRICS.add_metric("MergedFiles", MetricUnit.Count, sum(kept.merged))
        return
    METRICS.add_metric("TableSnapshots", MetricUnit.Count, kept.snapshots)
    if kept.rebuilt:
        LOG.warning("rebuilt", extra={"line": kept.dataset, "heights": kept.rebuilt})

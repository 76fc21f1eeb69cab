"""The Lambda that keeps the tables of datasets at the top of the ledger: when an event names one, and all of them by schedule.

The schedule also puts small files together, where a contract asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.clients import client
from lakegate.aws.lambda_runtime import (
    INVOCATION,
    HandlerError,
    batch,
    count_once,
    dependencies,
    log_failures,
    logger,
    metrics,
    sanitize_errors,
)
from lakegate.aws.settings import read
from lakegate.base.errors import LakegateError, Unfinished
from lakegate.features.pull.pull_task import FinishedPull, S3LandingParts
from lakegate.features.pull.snapshots.iceberg_branches import IcebergBranches, S3Files, SnapshotSource
from lakegate.features.pull.snapshots.name_snapshots import deliver_snapshots
from lakegate.features.pull.snapshots.publish_snapshots import is_gated, publish_all, publish_snapshots
from lakegate.features.tables.all_tables import SECONDS_OF_TABLE, AllTables, has_table, keep_all_tables
from lakegate.features.tables.compact_table import CompactedTable
from lakegate.features.tables.glue_tables import glue_catalog, glue_tables
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


@cache
def gate_of_tables() -> tuple[IcebergBranches, SnapshotSource, S3LandingParts]:
    """Tables of producers, their snapshots, and where these land."""
    settings = read(os.environ)
    own = frozenset({settings.landing, settings.lake})
    branches = IcebergBranches(glue_catalog(settings), S3Files(client("s3")).identify, own)
    return branches, SnapshotSource(branches, own), S3LandingParts(client("s3"), settings.landing, settings.account)


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Keep the tables that messages of SQS name, and let accepted snapshots of gated tables become main.

    Without messages the tables of all datasets, or with `gated` all that is due about gated ones: their snapshots are delivered.
    It ends with an error if any of them failed.
    """
    INVOCATION.set(context)
    if "Records" in event:
        return batch(event, keep, dataset_in, LOG, METRICS)
    if event.get("gated"):
        return _gate()
    turn: Turn = sanitize_errors(_keep_all, LOG, METRICS)
    for _, kept in turn.ends:
        _count(kept)
    if log_failures("StepFailures", turn.failures, LOG, METRICS):
        raise HandlerError("StepFailures")
    return {"tables": turn.looked_at}


def keep(dataset: str) -> None:
    """Keep the tables of a dataset, and follow that of its producer. Raises Unfinished where one is not done with.

    One that fails does not stop the others.
    """
    gate, failures = dependencies(), list[LakegateError]()
    acts = [partial(_keep, gate, tables, dataset) for tables in catalog() if has_table(gate, dataset, tables.kind)]
    if is_gated(gate, dataset):
        acts.append(partial(_follow, gate, dataset))
    for act in acts:
        try:
            act()
        except LakegateError as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def _follow(gate: Dependencies, dataset: str) -> None:
    followed = run(publish_snapshots(gate, gate_of_tables()[0], dataset), gate.clock)
    _count_ends((dataset, each) for each in followed.ends)
    if not followed.is_complete:
        raise Unfinished


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


def _gate() -> dict[str, Any]:
    """Look at branches, deliver their snapshots, and let those that are accepted become main."""
    gate = dependencies()
    tables, source, landing = gate_of_tables()

    def act() -> Turn:
        turn: Turn = run(deliver_snapshots(gate, tables, source, landing), gate.clock)
        run(publish_all(gate, tables, turn), gate.clock)
        return turn

    turn: Turn = sanitize_errors(act, LOG, METRICS)
    _count_ends(turn.ends)
    if log_failures("StepFailures", turn.failures, LOG, METRICS):
        raise HandlerError("StepFailures")
    return {"ends": len(turn.ends)}


def _count_ends(ends: Iterable[tuple[str, FinishedPull]]) -> None:
    for dataset, end in ends:
        count_once(f"Pulls{end.outcome.value.capitalize()}", "pull")  # the alarm `PullsFailed` is about them, too
        LOG.info("snapshot", extra={"line": dataset, "outcome": end.outcome.value, "reason": end.reason})


def _count(kept: KeptTable | CompactedTable) -> None:
    if isinstance(kept, CompactedTable):
        METRICS.add_metric("MergedFiles", MetricUnit.Count, sum(kept.merged))
        return
    METRICS.add_metric("TableSnapshots", MetricUnit.Count, kept.snapshots)
    if kept.rebuilt:
        LOG.warning("rebuilt", extra={"line": kept.dataset, "heights": kept.rebuilt})

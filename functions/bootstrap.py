"""The composition root: every adapter by keyword, the real one where none is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.clock import SystemClock
from lakegate.functions.adapters.dynamodb import DynamoTable
from lakegate.functions.adapters.emr import EmrServerless
from lakegate.functions.adapters.eventbridge import EventBridgeNotifier
from lakegate.functions.adapters.ledger import DynamoLedger
from lakegate.functions.adapters.registry import DynamoRegistry
from lakegate.functions.adapters.s3 import S3Store
from lakegate.functions.adapters.uploads import Uploads
from lakegate.functions.adapters.workloads import DynamoAgenda, DynamoOutbox, DynamoWorkloads
from lakegate.functions.meaning import MEANING
from lakegate.functions.usecases.dependencies import Dependencies, JobSettings, Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.ports.agenda import Agenda
    from lakegate.functions.ports.clock import Clock
    from lakegate.functions.ports.jobs import JobRunner
    from lakegate.functions.ports.ledger import Ledger
    from lakegate.functions.ports.notifier import Notifier
    from lakegate.functions.ports.objects import ObjectStore
    from lakegate.functions.ports.outbox import Outbox
    from lakegate.functions.ports.registry import Registry
    from lakegate.functions.ports.workloads import Workloads
    from lakegate.functions.settings import Settings
    from lakegate.functions.usecases.dependencies import Meaning, Timing


class Adapters(TypedDict, total=False):
    """Adapters that a test, or another stack, may replace."""

    objects: ObjectStore
    registry: Registry
    workloads: Workloads
    agenda: Agenda
    outbox: Outbox
    ledger: Ledger
    jobs: JobRunner
    notifier: Notifier
    clock: Clock
    meaning: Meaning
    timing: Timing


def bootstrap(
    settings: Settings, remaining: Callable[[], float] = lambda: float("inf"), **adapters: Unpack[Adapters]
) -> Dependencies:
    """The gate of a stack. `remaining`: seconds this invocation has left. No call to AWS is made here."""
    dynamodb, workloads = client("dynamodb"), DynamoTable(client("dynamodb"), settings.workloads_table)
    real = Dependencies(
        objects=S3Store(client("s3"), settings.account, Uploads(workloads), remaining),
        registry=DynamoRegistry(DynamoTable(dynamodb, settings.registry_table), settings.landing),
        workloads=DynamoWorkloads(workloads),
        agenda=DynamoAgenda(workloads),
        outbox=DynamoOutbox(workloads),
        ledger=DynamoLedger(DynamoTable(dynamodb, settings.ledger_table), workloads),
        jobs=EmrServerless(client("emr-serverless"), settings.application),
        notifier=EventBridgeNotifier(client("events"), settings.bus),
        clock=SystemClock(),
        meaning=MEANING,
        places=_places(settings),
    )
    return replace(real, **adapters)


def _places(settings: Settings) -> Places:
    job = JobSettings(
        settings.application,
        settings.job_role,
        settings.entry_point,
        settings.job_parameters,
        settings.job_minutes,
    )
    return Places(settings.landing, settings.lake, job, ignore_unrouted=settings.unrouted == "ignore")

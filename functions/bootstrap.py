"""The composition root: every adapter by keyword, the real one where none is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from functions.adapters.clients import client
from functions.adapters.clock import SystemClock
from functions.adapters.dynamodb import Table
from functions.adapters.emr import EmrServerless
from functions.adapters.eventbridge import EventBridgeNotifier
from functions.adapters.ledger import DynamoLedger
from functions.adapters.registry import DynamoRegistry
from functions.adapters.s3 import S3Store
from functions.adapters.uploads import Uploads
from functions.adapters.workloads import DynamoAgenda, DynamoOutbox, DynamoWorkloads
from functions.meaning import MEANING
from functions.usecases.gate import Gate, Job, Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.ports import (
        Agenda,
        Clock,
        JobRunner,
        Ledger,
        Notifier,
        ObjectStore,
        Outbox,
        Registry,
        Workloads,
    )
    from functions.settings import Settings
    from functions.usecases.gate import Meaning, Timing


class Adapters(TypedDict, total=False):
    """What a test, or another stack, may bring of its own."""

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
) -> Gate:
    """The gate of a stack. `remaining`: seconds this invocation has left. No call to AWS is made here."""
    dynamodb, workloads = client("dynamodb"), Table(client("dynamodb"), settings.workloads_table)
    real = Gate(
        objects=S3Store(client("s3"), settings.account, Uploads(workloads), remaining),
        registry=DynamoRegistry(Table(dynamodb, settings.registry_table), settings.landing),
        workloads=DynamoWorkloads(workloads),
        agenda=DynamoAgenda(workloads),
        outbox=DynamoOutbox(workloads),
        ledger=DynamoLedger(Table(dynamodb, settings.ledger_table), workloads),
        jobs=EmrServerless(client("emr-serverless"), settings.application),
        notifier=EventBridgeNotifier(client("events"), settings.bus),
        clock=SystemClock(),
        meaning=MEANING,
        places=_places(settings),
    )
    return replace(real, **adapters)


def _places(settings: Settings) -> Places:
    job = Job(
        settings.application,
        settings.job_role,
        settings.entry_point,
        settings.job_parameters,
        settings.job_minutes,
    )
    return Places(settings.landing, settings.lake, job, ignore_unrouted=settings.unrouted == "ignore")

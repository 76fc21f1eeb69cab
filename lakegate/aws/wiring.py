"""Composition root: each port with its adapter; event bus, caller, clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import BY_CODE, client, port_errors
from lakegate.aws.dynamodb_table import DynamoTable
from lakegate.aws.emr_serverless import EmrServerless, JudgeFunction, Runners
from lakegate.aws.kms_signing import kms_keys
from lakegate.aws.s3_objects import S3Store, Uploads
from lakegate.aws.settings import Settings
from lakegate.base.errors import PortError
from lakegate.base.extension_points import load_extension
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.dependencies import Dependencies, JobSettings, Places, Timing
from lakegate.gate.ports import Message
from lakegate.gate.table import TableName
from lakegate.plan.billed_cost import Prices

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef


# ---- The clock ----


class SystemClock:
    """Clock."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


# ---- The notifier ----


SOURCE: Final = "lakegate"


def detail_type(message: Message) -> str:
    """The detail type, by which rules choose events."""
    return f"{'line' if message.dataset else 'workload'} {message.kind}"


def detail(message: Message) -> dict[str, object]:
    """The detail of the event; its JSON Schema is lakegate/schemas/event.json, about a line line-event.json."""
    about = {"line": message.dataset} if message.dataset else {"workload": message.workload}
    return {"id": message.id, **about, "kind": message.kind, "body": json.loads(message.body)}


@dataclass(frozen=True, slots=True)
class EventBridgeNotifier:
    """Notifier."""

    client: EventBridgeClient
    bus: str

    def send(self, messages: Sequence[Message]) -> frozenset[str]:
        """PutEvents. The status is 200 also for refused entries, which have a code in the place of their message."""
        entries: list[PutEventsRequestEntryTypeDef] = [
            {
                "Source": SOURCE,
                "DetailType": detail_type(message),
                "Detail": json.dumps(detail(message), separators=(",", ":")),
                "EventBusName": self.bus,
                "Time": message.at,
            }
            for message in messages
        ]
        with port_errors():
            response = self.client.put_events(Entries=entries)
        if response["FailedEntryCount"] and len(messages) == 1:
            code = response["Entries"][0].get("ErrorCode", "")
            raise BY_CODE.get(code, PortError)(f"PutEvents: {code}")
        answers = zip(messages, response["Entries"], strict=True)
        return frozenset(message.id for message, answer in answers if "ErrorCode" in answer)


# ---- The caller's identity ----


@dataclass(frozen=True, slots=True)
class StsIdentity:
    """Identity: GetCallerIdentity, which needs no permission and cannot be denied by a policy.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    """

    client: Any
    _known: list[str] = field(default_factory=list, repr=False, compare=False)

    def caller(self) -> str:
        """Asked once; the credentials of a command do not change."""
        if not self._known:
            with port_errors():
                self._known.append(self.client.get_caller_identity()["Arn"])
        return self._known[0]


# ---- Every port with its adapter ----


DRIVER_VCPU = 2
EXECUTOR_VCPU = 2
"""As template.yaml sizes workers."""


def bootstrap(settings: Settings, remaining: Callable[[], float] = lambda: float("inf")) -> Dependencies:
    """The adapters of a stack. `remaining`: seconds this invocation has left. No call to AWS is made here."""
    names = {
        TableName.WORKLOADS: settings.workloads_table,
        TableName.LEDGER: settings.ledger_table,
        TableName.REGISTRY: settings.registry_table,
    }
    dynamodb = client("dynamodb")
    table = DynamoTable(dynamodb, names)
    signing = kms_keys(client("kms"), settings.signing_key, settings.replaced_signing_key)

    @cache
    def of(name: str) -> object:
        """A registration at the point `wiring`, by the settings."""
        return load_extension("wiring", name)(settings)

    return Dependencies(
        objects=S3Store(client("s3"), settings.account, Uploads(table), remaining),
        table=table,
        jobs=Runners(EmrServerless(client("emr-serverless"), settings.application), JudgeFunction(client("lambda"))),
        notifier=EventBridgeNotifier(client("events"), settings.bus),
        clock=SystemClock(),
        identity=StsIdentity(client("sts")),
        places=_places(settings),
        takes_since=cache(partial(_made, dynamodb, settings.workloads_table))
        if settings.adopts == "no"
        else lambda: None,
        of=of,
        signing=signing,
        timing=Timing(kept=timedelta(days=settings.workload_days)),
        remaining=remaining,
    )


def _made(client: Any, table: str) -> datetime:  # noqa: ANN401 - a client of boto3
    """The time when the table of deliveries was made, and the stack with it: also one that a later stack was given."""
    with port_errors():
        made: datetime = client.describe_table(TableName=table)["Table"]["CreationDateTime"]
    return made


def most_executors(vcpu: int, runs: int) -> int:
    """The largest number of executors of a run, so that so many runs at once use no more vCPUs than the application may."""
    return max(1, (vcpu // runs - DRIVER_VCPU) // EXECUTOR_VCPU)


def _places(settings: Settings) -> Places:
    job = JobSettings(
        settings.application,
        settings.job_role,
        settings.entry_point,
        settings.job_parameters,
        settings.job_minutes,
        most_executors(settings.max_vcpu, settings.max_runs),
        settings.judge,
        settings.small_file_bytes,
        BatchLimits(settings.batch_files, settings.batch_bytes, settings.batch_seconds),
    )
    return Places(
        settings.landing,
        settings.lake,
        job,
        Prices.read(settings.prices),
        landing_prefix=settings.landing_prefix,
        ignore_unrouted=settings.unrouted == "ignore",
        needs_approval=settings.approval == "yes",
        ignored=tuple(settings.ignored.split(",")),
        missing_fields=FieldTreatment(settings.missing_fields),
    )

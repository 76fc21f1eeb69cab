"""The composition root: every port with its adapter in AWS; `dataclasses.replace` exchanges one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.terms import BatchLimits
from lakegate.contracts.plan.billing import Prices
from lakegate.functions.adapters.announcements import DynamoAnnouncements
from lakegate.functions.adapters.batches import DynamoBatches
from lakegate.functions.adapters.callbacks import DynamoCallbacks
from lakegate.functions.adapters.channels import channels
from lakegate.functions.adapters.clients import client, signed, signer
from lakegate.functions.adapters.clock import SystemClock
from lakegate.functions.adapters.dynamodb import DynamoTable
from lakegate.functions.adapters.emr import EmrServerless
from lakegate.functions.adapters.eventbridge import EventBridgeNotifier
from lakegate.functions.adapters.history import DynamoHistory
from lakegate.functions.adapters.https_source import HttpsSource
from lakegate.functions.adapters.identity import StsIdentity
from lakegate.functions.adapters.job_runners import JudgeFunction, Runners
from lakegate.functions.adapters.landing_parts import S3LandingParts
from lakegate.functions.adapters.ledger import DynamoLedger
from lakegate.functions.adapters.line_rows import promises, pulls, revalidations
from lakegate.functions.adapters.lines import DynamoLines
from lakegate.functions.adapters.notices import DynamoNotices
from lakegate.functions.adapters.pauses import DynamoPauses
from lakegate.functions.adapters.pull_access import PullAccess
from lakegate.functions.adapters.registry import DynamoRegistry
from lakegate.functions.adapters.request_keys import DynamoRequestKeys
from lakegate.functions.adapters.s3 import S3Store
from lakegate.functions.adapters.secrets import Secrets
from lakegate.functions.adapters.signing import kms_keys
from lakegate.functions.adapters.transfers import S3Source, TransferByScheme
from lakegate.functions.adapters.upload_notes import Uploads
from lakegate.functions.adapters.uploads import PresignedUploads
from lakegate.functions.adapters.validations import DynamoValidations
from lakegate.functions.adapters.validators import HttpsValidators
from lakegate.functions.adapters.web import Web
from lakegate.functions.adapters.workloads import DynamoAgenda, DynamoOutbox, DynamoWorkloads
from lakegate.functions.ports.errors import UnreadableItem
from lakegate.functions.usecases.dependencies import Dependencies, JobSettings, Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.ports.transfers import Transfer
    from lakegate.functions.settings import Settings

DRIVER_VCPU, EXECUTOR_VCPU = 2, 2
"""As template.yaml sizes workers."""


def bootstrap(settings: Settings, remaining: Callable[[], float] = lambda: float("inf")) -> Dependencies:
    """The adapters of a stack. `remaining`: seconds this invocation has left. No call to AWS is made here."""
    dynamodb, left_out = client("dynamodb"), list[UnreadableItem]()
    workloads, ledger, registry = (
        DynamoTable(dynamodb, name, left_out)
        for name in (settings.workloads_table, settings.ledger_table, settings.registry_table)
    )
    signing = kms_keys(client("kms"), settings.signing_key, settings.replaced_signing_key)
    return Dependencies(
        objects=S3Store(client("s3"), settings.account, Uploads(workloads), remaining),
        registry=DynamoRegistry(registry, settings.landing, ledger),
        workloads=DynamoWorkloads(workloads),
        agenda=DynamoAgenda(workloads),
        outbox=DynamoOutbox(workloads),
        ledger=DynamoLedger(ledger, workloads, signing),
        history=DynamoHistory(ledger),
        pauses=DynamoPauses(workloads),
        batches=DynamoBatches(workloads),
        jobs=Runners(EmrServerless(client("emr-serverless"), settings.application), JudgeFunction(client("lambda"))),
        notifier=EventBridgeNotifier(client("events"), settings.bus),
        clock=SystemClock(),
        identity=StsIdentity(client("sts")),
        lines=DynamoLines(workloads, ledger),
        notices=DynamoNotices(workloads),
        promises=promises(workloads),
        pulls=pulls(workloads),
        revalidations=revalidations(workloads),
        channels=channels(client("secretsmanager"), client("sns")),
        announcements=DynamoAnnouncements(workloads),
        uploads=PresignedUploads(signer(), client("sqs"), settings.landing, settings.landed_queue),
        requests=DynamoRequestKeys(workloads),
        validations=DynamoValidations(workloads),
        callbacks=DynamoCallbacks(workloads),
        validators=_validators(settings),
        places=_places(settings),
        signing=signing,
        remaining=remaining,
        left_out=left_out,
    )


def pull_adapters(
    settings: Settings, remaining: Callable[[], float] = lambda: float("inf")
) -> tuple[TransferByScheme, S3LandingParts]:
    """Sources, and the landing bucket in parts: only the function that pulls has them. No call to AWS is made here."""
    from lakegate.functions.adapters.sftp_source import PORTS, SftpSource  # noqa: PLC0415 - only its bundle has the library

    secrets = Secrets(client("secretsmanager"))
    hosts = frozenset(settings.pull_hosts.lower().split(",")) - {""}
    access, is_local = PullAccess(secrets, hosts, settings.pull_secrets, remaining), secrets.are_local
    adapters: dict[str, Transfer] = {
        "https": HttpsSource(Web(is_local=is_local), access),
        "s3": S3Source(client("s3"), frozenset({settings.landing, settings.lake})),
        "sftp": SftpSource(Web(is_local=is_local, ports=PORTS), access),
    }
    return TransferByScheme(adapters), S3LandingParts(client("s3"), settings.landing, settings.account)


def _validators(settings: Settings) -> HttpsValidators:
    """Services that measure rules, on the hosts that the stack's operator lists."""
    secrets, hosts = Secrets(client("secretsmanager")), frozenset(settings.validator_hosts.lower().split(",")) - {""}
    web = Web(is_local=secrets.are_local)
    return HttpsValidators(web, secrets, hosts, settings.validator_secrets, signer(), signed)


def most_executors(vcpu: int, runs: int) -> int:
    """How many executors a run may have, so that so many runs at once use no more vCPUs than the application may."""
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
        ignore_unrouted=settings.unrouted == "ignore",
        needs_approval=settings.approval == "yes",
        ignored=tuple(settings.ignored.split(",")),
        anchors=settings.anchors,
        anchor_days=settings.anchor_days,
    )

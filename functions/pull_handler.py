"""Pulls, by schedule."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.clients import client
from lakegate.aws.https_client import Web
from lakegate.aws.lambda_runtime import (
    INVOCATION,
    dependencies,
    log_failures,
    logger,
    metrics,
    remaining,
    sanitize_errors,
)
from lakegate.aws.secrets import Secrets
from lakegate.aws.settings import Settings, read
from lakegate.features.pull.archive_members import ArchiveMembers
from lakegate.features.pull.ftp_source import PORTS as FTP_PORTS
from lakegate.features.pull.ftp_source import FtpSource
from lakegate.features.pull.https_source import HttpsSource
from lakegate.features.pull.named_objects import deliver_named
from lakegate.features.pull.pull_sources import PullAccess, S3Source, Transfer, TransferByScheme
from lakegate.features.pull.pull_task import PullOutcome, S3LandingParts, tick
from lakegate.gate.effects import run
from lakegate.gate.scheduled_tasks import Turn

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def pull_adapters(
    settings: Settings, remaining: Callable[[], float] = lambda: float("inf")
) -> tuple[ArchiveMembers, S3LandingParts]:
    """Sources, and the landing bucket in parts: only the function that pulls has them. No call to AWS is made here."""
    from lakegate.features.pull.sftp_source import PORTS, SftpSource  # noqa: PLC0415 - only its bundle has the library

    secrets = Secrets(client("secretsmanager"))
    hosts = frozenset(settings.pull_hosts.lower().split(",")) - {""}
    access, is_local = PullAccess(secrets, hosts, settings.pull_secrets, remaining), secrets.are_local
    adapters: dict[str, Transfer] = {
        "https": HttpsSource(Web(is_local=is_local), access),
        "http": HttpsSource(Web(is_local=is_local, plain=True), access),
        "ftp": FtpSource(Web(is_local=is_local, ports=FTP_PORTS), access),
        "s3": S3Source(client("s3"), frozenset({settings.landing, settings.lake})),
        "sftp": SftpSource(Web(is_local=is_local, ports=PORTS), access),
    }
    return ArchiveMembers(TransferByScheme(adapters)), S3LandingParts(client("s3"), settings.landing, settings.account)


LOG, METRICS = logger("pull"), metrics("pull")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Pull what is due; what a tick cannot finish another one does."""
    INVOCATION.set(context)
    turn = sanitize_errors(_tick, LOG, METRICS)
    counts = {outcome.value.lower(): 0 for outcome in PullOutcome if outcome is not PullOutcome.PUBLISHED}
    for name, end in turn.ends:
        counts[end.outcome.value.lower()] += 1
        LOG.info("pulled", extra={"line": name, "outcome": end.outcome.value, "reason": end.reason})
    for name, count in counts.items():
        METRICS.add_metric(f"Pulls{name.capitalize()}", MetricUnit.Count, count)
    return counts | {"failures": log_failures("StepFailures", turn.failures, LOG, METRICS)}


def _tick() -> Turn:
    gate = dependencies()
    transfer, landing = pull_adapters(read(os.environ), remaining)
    return run(tick(gate, transfer, landing, also=deliver_named), gate.clock)

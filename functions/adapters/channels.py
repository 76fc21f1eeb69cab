"""Channels: the kind of a reference chooses the adapter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lakegate.contracts.lake.channels import OF_LINEAGE, channel_of
from lakegate.functions.adapters.openlineage import OpenLineage
from lakegate.functions.adapters.pagerduty import PagerDuty
from lakegate.functions.adapters.secrets import Secrets
from lakegate.functions.adapters.slack import Slack
from lakegate.functions.adapters.sns import Sns
from lakegate.functions.adapters.teams import Teams
from lakegate.functions.adapters.web import Web
from lakegate.functions.adapters.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.ports.channels import Notification
    from lakegate.functions.ports.lineage import JudgedDelivery


class ChannelAdapter(Protocol):
    """Channels of one kind."""

    def deliver(self, reference: str, notification: Notification) -> None:
        """Send one notification. Raises as `lakegate.functions.ports.channels.Channels`."""
        ...


@dataclass(frozen=True, slots=True)
class ChannelsByKind:
    """Channels."""

    adapters: Mapping[str, ChannelAdapter]
    lineage: OpenLineage
    webhook: Webhook

    def deliver(self, channel: str, notification: Notification) -> None:
        """By the adapter of the kind, to the reference behind it."""
        kind, reference = channel_of(channel)
        self.adapters[kind].deliver(reference, notification)

    def token(self, channel: str, about: str) -> str:
        """Of webhooks alone: they have a key, and a program behind them."""
        kind, reference = channel_of(channel)
        return self.webhook.token(reference, about) if kind == "webhook" else ""

    def report(self, channel: str, delivery: JudgedDelivery) -> None:
        """By the adapter for lineage."""
        self.lineage.report(channel_of(channel).reference, delivery)


def channels(secrets: Any, sns: Any, web: Web | None = None) -> ChannelsByKind:  # noqa: ANN401 - clients, as boto3 has them
    """Every kind of channel, over clients of Secrets Manager and SNS."""
    by = Secrets(secrets)
    web = web or Web(is_local=by.are_local)
    lineage, webhook = OpenLineage(by, web), Webhook(by, web)
    return ChannelsByKind(
        {
            OF_LINEAGE: lineage,
            "sns": Sns(sns),
            "webhook": webhook,
            "slack": Slack(by, web),
            "teams": Teams(by, web),
            "pagerduty": PagerDuty(by, web),
        },
        lineage,
        webhook,
    )

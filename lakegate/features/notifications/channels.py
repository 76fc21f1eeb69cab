"""Kinds of channels, their references and secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from lakegate.aws.clients import client
from lakegate.aws.secrets import Secrets
from lakegate.errors import InputError
from lakegate.features.notifications.pagerduty import PagerDuty
from lakegate.features.notifications.slack import Slack
from lakegate.features.notifications.sns import Sns
from lakegate.features.notifications.teams import Teams
from lakegate.features.notifications.webhook import Webhook
from lakegate.features.openlineage.openlineage_events import OpenLineage
from lakegate.https_client import Web
from lakegate.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.aws.settings import Settings
    from lakegate.features.notifications.message_text import Notification
    from lakegate.features.openlineage.openlineage_events import JudgedDelivery

# ---- Channels that notifications are sent to, by reference: `slack:lakegate-channel-orders` names a secret, not
# its content


_NAME: Final = r"[A-Za-z0-9/_+=.@-]{1,400}"
"""The characters that names of secrets have: Secrets Manager API Reference, CreateSecret, `Name`."""


FORMS: Final = {
    "sns": r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}",
    "webhook": _NAME,
    "slack": _NAME,
    "teams": _NAME,
    "pagerduty": _NAME,
    "openlineage": _NAME,
}
"""By kind: the form of the reference, the ARN of a topic or the name of a secret."""


OF_LINEAGE: Final = "openlineage"
"""The kind of channel that gets the lineage of every delivery, and nothing else."""


MOST: Final = 10
"""Channels of one subscription."""


class Channel(NamedTuple):
    """A channel, by reference."""

    kind: str
    reference: str


def gets_lineage(channel: str) -> bool:
    """Whether a channel, as a subscription names it, gets the lineage of deliveries instead of notifications."""
    return channel.partition(":")[0] == OF_LINEAGE


def channel_of(text: str) -> Channel:
    """The channel that a text names. Raises InputError, which does not repeat the text: it may be a secret."""
    kind, _, reference = text.partition(":")
    if kind not in FORMS:
        raise InputError(f"a channel is one of {listed([f'{each}:…' for each in FORMS])}")
    if not re.fullmatch(FORMS[kind], reference, re.ASCII):
        what = (
            "the ARN of a topic"
            if kind == "sns"
            else "the name of a secret of Secrets Manager, never an address or a key"
        )
        raise InputError(f"behind {kind}: there is {what}")
    return Channel(kind, reference)


# ---- Channels: the kind of a reference chooses the adapter ---------------------------------------------------------


class ChannelAdapter(Protocol):
    """Channels of one kind."""

    def deliver(self, reference: str, notification: Notification) -> None:
        """Send one notification. Raises as `lakegate.features.notifications.message_text.Channels`."""
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


def channels_of_stack(_settings: Settings) -> ChannelsByKind:
    """Every kind of channel, for the functions of a stack."""
    return channels(client("secretsmanager"), client("sns"))

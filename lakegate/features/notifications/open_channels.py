"""Kinds of channels, their references and secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakegate.aws.clients import client
from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.aws.settings import Settings
from lakegate.base.extension_points import load_extension, names
from lakegate.features.notifications.sns import Sns
from lakegate.features.notifications.webhook import Webhook
from lakegate.gate.channel_ports import ChannelAdapter, Notification, channel_of


@dataclass(frozen=True, slots=True)
class ChannelsByKind:
    """Channels: the kind of a reference chooses the adapter."""

    adapters: Mapping[str, Any]
    """A ChannelAdapter each; a webhook also makes tokens, and a kind that gets lineage reports deliveries."""

    def deliver(self, channel: str, notification: Notification) -> None:
        """By the adapter of the kind, to the reference behind it."""
        kind, reference = channel_of(channel)
        adapter: ChannelAdapter = self.adapters[kind]
        adapter.deliver(reference, notification)

    def token(self, channel: str, about: str) -> str:
        """Of webhooks alone: they have a key, and a program behind them."""
        kind, reference = channel_of(channel)
        adapter = self.adapters[kind]
        return adapter.token(reference, about) if isinstance(adapter, Webhook) else ""

    def report(self, channel: str, delivery: object) -> None:
        """By the adapter for lineage."""
        kind, reference = channel_of(channel)
        self.adapters[kind].report(reference, delivery)


def channels(secrets: Any, sns: Any, web: Web | None = None) -> ChannelsByKind:  # noqa: ANN401 - clients, as boto3 has them
    """Every kind of channel, over clients of Secrets Manager and SNS."""
    by = Secrets(secrets)
    web = web or Web(is_local=by.are_local)
    kinds = {kind: load_extension("channels", kind) for kind in names("channels")}
    return ChannelsByKind({kind: made(sns) if made is Sns else made(by, web) for kind, made in kinds.items()})


def channels_of_stack(_settings: Settings) -> ChannelsByKind:
    """Every kind of channel, for the functions of a stack."""
    return channels(client("secretsmanager"), client("sns"))

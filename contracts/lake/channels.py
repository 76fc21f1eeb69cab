"""Channels that notifications are sent to, by reference: `slack:lakegate-channel-orders` names a secret, not its content."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import listed

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

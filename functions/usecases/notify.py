"""Step 13: send the messages of the outbox, each at least once, then what channels are to be notified of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.functions.ports.errors import PortError, UnreadableItem
from lakegate.functions.usecases.notices import Delivered, deliver, note
from lakegate.functions.usecases.promises import renew, report_missed
from lakegate.functions.usecases.steps import Defect, Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Message

BATCH = 100


@dataclass(slots=True)
class Notified:
    """What a turn of notify did, for metrics."""

    sent: list[Message] = field(default_factory=list)
    """Marked as sent: each once, unless its mark had no answer."""
    failures: list[LakegateError] = field(default_factory=list)
    channels: Delivered = field(default_factory=Delivered)


def notify(dependencies: Dependencies, batch: int = BATCH) -> Steps[Notified]:
    """Send what is pending; what could not be sent stays pending, and its error is returned.

    The event bus comes first: no channel delays it.
    """
    notified, noted = Notified(), list[str]()
    for message in dependencies.outbox.pending(batch):
        try:
            noted += yield from _sent(dependencies, message, notified)
        except LakegateError as failure:
            notified.failures.append(failure)
        except Exception as error:  # noqa: BLE001 - one message stops none of the others
            notified.failures.append(Defect(message.id, error))
    try:
        notified.failures += yield from report_missed(dependencies)
    except PortError as failure:
        notified.failures.append(failure)
    notified.channels = yield from deliver(dependencies, noted)
    notified.failures += dependencies.taken_out()
    return notified


def _sent(dependencies: Dependencies, message: Message, notified: Notified) -> Steps[tuple[str, ...]]:
    yield from perform(Effect.SEND, partial(dependencies.notifier.send, message))
    noted: tuple[str, ...] = ()
    try:
        yield from renew(dependencies, message)
        noted = yield from note(dependencies, message)
    except UnreadableItem as failure:  # no reason to send the event again, every minute
        notified.failures.append(failure)
    yield from perform(Effect.MARK_SENT, partial(dependencies.outbox.sent, message))
    notified.sent.append(message)
    return noted

"""Announced deliveries: a producer states what it is about to send, and is refused before it sends, or gets a place for it.

An announcement is no workload. Its key is of its own, so what lands there is its delivery, whichever of the producer's request,
S3's event and `notify` comes first, twice or never: intake claims the version as any other, and links the announcement to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.door.summary import summary_refusals
from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.lake.lifecycle import moment, refusal, strictest
from lakegate.contracts.model.policy import DeliveryUnit
from lakegate.functions.ports.announcements import Announcement
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases.names import is_usable
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.door.summary import DataSummary, SummaryRefusal
    from lakegate.contracts.lake.routes import Route
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

VALID: Final = timedelta(minutes=15)
"""How long an upload URL can be used."""
LARGEST_PUT: Final = 5 << 30
"""Bytes of one PutObject (https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html)."""
LONGEST_KEY: Final = 1_024
"""Bytes."""


class UnknownContract(LakegateError):  # noqa: N818 - the name is what happened
    """No contract with this id has a route to the landing bucket."""


class SummaryRefused(LakegateError):  # noqa: N818 - likewise
    """The data would be rejected: it is not to be sent."""

    def __init__(self, refusals: tuple[SummaryRefusal, ...]) -> None:
        super().__init__("the data would be rejected")
        self.refusals = refusals


@dataclass(frozen=True, slots=True)
class WantedDelivery:
    """What a producer wants to deliver."""

    contract: str
    dataset: str = ""
    """Empty: the only one of the contract."""
    prefix: str = ""
    """Of the route; empty: the only one of the dataset."""
    name: str = ""
    """Of the file, the last part of its key; empty: one of the dataset's format."""
    size: int | None = None
    sha256: str = ""
    """In Base64; with `size` both or neither."""
    summary: DataSummary | None = None


def announce(dependencies: Dependencies, wanted: WantedDelivery, identity: str) -> Steps[Announcement]:
    """Judge what is known of the data, and keep the announcement with this id; the one that is kept, if it was announced before.

    Raises UnknownContract, SummaryRefused, and InputError for what cannot be announced.
    """
    if (before := dependencies.announcements.get(identity)) is not None:
        return before
    route = _route(dependencies, wanted)
    plan = dependencies.plan_at(route.plan, identity)
    terms = terms_of(plan)
    now = dependencies.clock.now()
    status = strictest(route.status, dependencies.lines.get(route.line).status_at(moment(now)))
    if refused := refusal(status, known=True, observed=terms.observed):
        raise InputError(f"nothing can be delivered: {refused}")
    if terms.delivery is not DeliveryUnit.OBJECT:
        raise InputError("a delivery of this dataset has several objects, which cannot be announced: upload them")
    key = f"{route.prefix}{identity}/{wanted.name or f'data{terms.suffix}'}"
    if len(key.encode()) > LONGEST_KEY or is_ignored(key, 1, dependencies.places.ignored):
        raise InputError("the name is too long, or one that this stack ignores: choose another one")
    if refusals := summary_refusals(plan, wanted.size, wanted.summary):
        raise SummaryRefused(refusals)
    until = moment(now + VALID)
    made = Announcement(
        identity,
        route.contract,
        route.version,
        route.dataset,
        key,
        wanted.size,
        wanted.sha256,
        until,
        dependencies.identity.caller(),
    )
    try:
        yield from perform(Effect.ANNOUNCE, partial(dependencies.announcements.create, made))
    except ConditionFailed:
        return dependencies.announcements.get(identity) or made  # the same request, sent twice at once
    return made


def available(dependencies: Dependencies, announcement: Announcement) -> Steps[None]:
    """The producer says that the data is there: give intake the same hint as S3's event."""
    yield from perform(Effect.HINT, partial(dependencies.uploads.landed, announcement.key))


def _route(dependencies: Dependencies, wanted: WantedDelivery) -> Route:
    known = dependencies.registry.contract(wanted.contract).routes if is_usable(wanted.contract) else ()
    routes = [each for each in known if each.bucket == dependencies.places.landing]
    if not routes:
        raise UnknownContract
    fitting = [each for each in routes if wanted.dataset in {"", each.dataset} and wanted.prefix in {"", each.prefix}]
    if len(fitting) == 1:
        return fitting[0]
    raise InputError(
        "several routes fit: name the dataset, and the prefix of the route"
        if fitting
        else "no route fits: the contract has no such dataset, or none with this prefix"
    )

"""Announced, refused, or given an upload URL; HTTP routes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from lakegate.admission.ignored_keys import is_ignored
from lakegate.admission.refusals import refused_by_name
from lakegate.aws.clients import client, port_errors, signer
from lakegate.aws.settings import Settings
from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.base.json_codec import canonical, decode, encode, omit_default
from lakegate.base.text import join_words
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import full_dataset_name, is_usable
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.contract.semantic_versions import major
from lakegate.features.announcements.data_summary import SummaryRefusal, leave_out_classified, summary_refusals
from lakegate.features.announcements.wanted_delivery import DataSummary, WantedDelivery
from lakegate.gate.datasets.dataset_states import strictest
from lakegate.gate.datasets.lifecycle import refusal, replacement
from lakegate.gate.delivery.delivery_row import IDENTIFIER, Workload, workload_row
from lakegate.gate.delivery.delivery_terms import terms_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import every_version
from lakegate.gate.registry.registry_rows import RegistrySnapshot, Route
from lakegate.gate.table import (
    ALWAYS,
    Put,
    Row,
    RowAbsent,
    RowExists,
    Tables,
    Update,
    all_readable,
    read_row,
    workloads_key,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient


# ---- Announced deliveries ----


VALID: Final = timedelta(minutes=15)
"""The time for which an upload URL can be used."""
LISTED: Final = timedelta(days=7)
"""The time for which an announcement that nothing has landed for is in the list of its contract's workloads."""
LIST: Final = "announced"
"""The kind of shard of the index that lists announcements."""
ARRIVES: Final = timedelta(days=1)
"""The time after the end of its URL in which the data of an announcement may land: uploads that began in time, or in parts."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """An announced delivery. It is no workload yet: what lands at its key becomes one."""

    id: str
    """Chosen at random: 64 hexadecimal digits that nobody can guess."""
    contract: str
    version: str
    """Of the contract, whose rules its summary was judged by."""
    dataset: str
    key: str
    """The landing key of the data; ends with `/` where it may have any name in this folder. No other announcement has it."""
    size: int | None
    """Bytes; None where the producer uploads by its own rights."""
    sha256: str
    """Of the data, in Base64 as S3 has it; empty likewise."""
    until: str
    """The end of its upload URL: RFC 3339, UTC."""
    by: str
    """The announcer: an ARN, or issuer and subject of a token."""
    summary: DataSummary | None = omit_default(None)
    """The statements of its producer about the data, without values of classified columns."""
    refused: tuple[SummaryRefusal, ...] = omit_default(())
    """The first reasons for which nothing is to be sent; none, if it may be sent."""

    def takes(self, key: str) -> bool:
        """Whether an object at a landing key is its data."""
        return key == self.key or (self.key.endswith("/") and key.rpartition("/")[0] + "/" == self.key)

    @property
    def full_name(self) -> str:
        """Its dataset."""
        return full_dataset_name(self.contract, self.dataset, major(self.version))

    @property
    def at(self) -> datetime:
        """The time when it was announced."""
        return instant_of(self.until) - VALID

    @property
    def place(self) -> str:
        """The place in the list of its contract's: by that time, and unique."""
        return f"{moment(self.at)}#{self.id}"

    @property
    def data_summary(self) -> object:
        """The summary as a document; None without one."""
        return None if self.summary is None else encode(self.summary)

    @property
    def refusals(self) -> tuple[str, ...]:
        """The reasons as those of a verdict are written."""
        return tuple(f"{each.check}: {each.message}" for each in self.refused)

    def has_expired(self, now: datetime) -> bool:
        """Whether the time of an announcement for which nothing has landed is over.

        Computed when it is read, and kept nowhere: what lands still later is its delivery, so no order of events can lose data.
        """
        return now >= instant_of(self.until) + ARRIVES


@dataclass(frozen=True, slots=True)
class Announcements:
    """Announced deliveries by id."""

    table: Tables

    def create(self, announcement: Announcement) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        content = json.dumps(encode(announcement), separators=(",", ":"), ensure_ascii=False)
        index = {"shard": f"{LIST}#{announcement.contract}", "at": announcement.place}
        row = Row(workloads_key("announcement", announcement.id), {"announcement": content, **index})
        self.table.write(Put(row, RowAbsent()))

    def get(self, announcement: str) -> Announcement | None:
        """The announcement with this id; strongly consistent."""
        return read_row(self.table, workloads_key("announcement", announcement), _announcement)

    def latest(self, contract: str, now: datetime, limit: int, until: str) -> tuple[tuple[Announcement, ...], str]:
        """See `AnnouncedWorkloads`. What cannot be read is left out, and reported."""
        names = self.table.latest(f"{LIST}#{contract}", limit + 1, moment(now - LISTED), until or ALWAYS)
        rows = (self.table.get(workloads_key("announcement", name)) for _, name in names[:limit])
        listed = all_readable(self.table, filter(None, rows), _announcement)
        return tuple(listed), "".join(at for at, _ in names[limit:])

    def link(self, row: Workload) -> None:
        """Put the row that leads from an announcement to its workload, and list it no more. Raises ConditionFailed."""
        key = workloads_key("announcement", row.id)
        listed = Update(key, removes=("shard", "at"), if_=RowExists())
        self.table.transact([Put(workload_row(row), RowAbsent()), listed])


def announcements(dependencies: Dependencies) -> Announcements:
    """Announcements of this stack."""
    return Announcements(dependencies.table)


def _announcement(row: Row) -> Announcement:
    return decode(Announcement, json.loads(row.text("announcement")))


# ---- Signed upload URLs, and hints to intake ----


@dataclass(frozen=True, slots=True)
class PresignedUploads:
    """UploadGate.

    The signature covers the length, the checksum and `If-None-Match`: S3 refuses another length, a body of another checksum,
    and a second object at the key (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-presigned-url.html,
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html). The URL ends with the credentials that sign it
    if these end earlier.
    """

    s3: S3Client
    sqs: SQSClient
    landing: str
    queue: str
    """URL of intake's queue; empty where the stack's settings do not name it."""

    def url(self, key: str, size: int, sha256: str, seconds: int) -> str:
        """A presigned PutObject."""
        request = {
            "Bucket": self.landing,
            "Key": key,
            "ContentLength": size,
            "ChecksumSHA256": sha256,
            "IfNoneMatch": "*",
        }
        url: str = self.s3.generate_presigned_url("put_object", Params=request, ExpiresIn=seconds, HttpMethod="PUT")
        return url

    def landed(self, key: str) -> None:
        """A message of the form of EventBridge's event, of which intake reads bucket and key."""
        detail = {"version": "0", "bucket": {"name": self.landing}, "object": {"key": key}}
        event = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail}
        with port_errors():
            self.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps(event))


def presigned_uploads(settings: Settings) -> PresignedUploads:
    """Uploads to the landing bucket of a stack."""
    return PresignedUploads(signer(), client("sqs"), settings.landing, settings.landed_queue)


# ---- Ports ----


class UploadGate(Protocol):
    """The landing bucket, for producers who may not write to it."""

    def url(self, key: str, size: int, sha256: str, seconds: int) -> str:
        """A URL that takes one PUT of exactly these bytes at this key, if no object is there, for so many seconds.

        `sha256`: in Base64. The request must have the headers of `headers`. Nothing is sent to AWS.
        """
        ...

    def landed(self, key: str) -> None:
        """Give the gate the hint that an object landed, as S3's event does. Harmless however often, and if nothing landed."""
        ...


def uploads(dependencies: Dependencies) -> UploadGate:
    """The landing bucket of this stack."""
    found: UploadGate = dependencies.of("uploads")
    return found


def headers(size: int, sha256: str) -> dict[str, str]:
    """The headers of the PUT, which its URL is signed with."""
    return {"content-length": str(size), "if-none-match": "*", "x-amz-checksum-sha256": sha256}


# ---- Announcing a delivery ----
# An announcement is no workload. Its key is of its own, so what lands there is its delivery, whichever of the producer's
# request, S3's event and `notify` comes first, twice or never: intake claims the version as any other, and links the
# announcement to it.


LARGEST_PUT: Final = 5 << 30
"""Bytes of one PutObject (https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html)."""
MOST_OF_SUMMARY: Final = 256 << 10
"""Bytes of a summary that is kept: an item of DynamoDB has 400 KB."""
MOST_REASONS: Final = 100
LONGEST_KEY: Final = 1_024
"""Bytes."""
UNNAMED: Final = "data"
"""The name, without the suffix of its format, of data that is announced without one."""


NO_CONTRACT: Final = "No contract is published with this id."
NO_ROUTE: Final = (
    "No prefix delivers to this contract yet: its owner adds a route (`POST /api/v1/data-contract/{id}/route`)."
)


class UnknownContract(LakegateError):  # noqa: N818 - the name is what happened
    """No contract with this id has a route to the landing bucket."""


class SummaryRefused(LakegateError):  # noqa: N818 - likewise
    """The data would be rejected: it is not to be sent."""

    def __init__(self, identity: str, refusals: tuple[SummaryRefusal, ...]) -> None:
        super().__init__("the data would be rejected")
        self.identity = identity
        """The id under which the refusal is kept."""
        self.refusals = refusals


def announce(
    dependencies: Dependencies, wanted: WantedDelivery, identity: str, version: str = ""
) -> Steps[Announcement]:
    """Judge what is known of the data, and keep the announcement with this id; the one that is kept, if it was announced before.

    One that is refused is kept, too, with its summary and the reasons.

    With a version it goes to a dataset of the same major number.

    Raises UnknownContract, SummaryRefused, and InputError for what cannot be announced.
    """
    if (before := announcements(dependencies).get(identity)) is not None:
        return _if_not_refused(before)
    route = _route(dependencies, wanted, version)
    plan = dependencies.plan_at(route.plan, identity)
    terms = terms_of(plan)
    now = dependencies.now
    dataset = dependencies.datasets.get(route.full_name)
    status = strictest(route.status, dataset.status_at(moment(now)))
    if refused := refusal(status, known=True, observed=terms.observed):
        raise InputError(f"nothing can be delivered: {', '.join((refused, *replacement(dataset, refused)))}")
    if terms.delivery is not DeliveryUnit.OBJECT:
        raise InputError("a delivery of this dataset has several objects, which cannot be announced: upload them")
    folder = f"{route.prefix}{identity}/"
    key = f"{folder}{wanted.name or f'{UNNAMED}{terms.suffix}'}"
    if len(key.encode()) > LONGEST_KEY or is_ignored(key, 1, dependencies.places.ignored):
        raise InputError("the name is too long, or one that this stack ignores: choose another one")
    if misnamed := refused_by_name(plan, key):
        if wanted.name or wanted.size is not None:
            raise InputError(f"{misnamed[0]}: announce another `name`")
        key = folder  # DCM's own call has no name: what lands there is judged by its own one
    refusals = summary_refusals(plan, wanted.size, wanted.summary)
    stated = wanted.summary and leave_out_classified(plan, wanted.summary)
    try:
        is_too_large = stated is not None and len(canonical(stated)) > MOST_OF_SUMMARY
    except UnicodeEncodeError:
        raise InputError("a text of the summary has half a pair of surrogates") from None
    if is_too_large:
        raise InputError(f"a summary has at most {MOST_OF_SUMMARY:,} bytes")
    until = moment(now + VALID)
    made = Announcement(
        identity,
        route.contract,
        route.version,
        route.dataset,
        key,
        wanted.size,
        wanted.checksum.removeprefix("sha256:"),
        until,
        dependencies.identity.caller(),
        stated,
        refusals[:MOST_REASONS],
    )
    try:
        yield from perform(Effect.ANNOUNCE, announcements(dependencies).create, made)
    except ConditionFailed:
        made = announcements(dependencies).get(identity) or made  # the same request, sent twice at once
    return _if_not_refused(made)


def _if_not_refused(made: Announcement) -> Announcement:
    if made.refused:
        raise SummaryRefused(made.id, made.refused)
    return made


def chosen_name(dependencies: Dependencies, key: str) -> str | None:
    """The landing key of announced data without the folder of its announcement; None where its producer chose no name."""
    *folders, identity, name = ("", *key.split("/"))
    announced = announcements(dependencies).get(identity) if IDENTIFIER.fullmatch(identity) else None
    if announced is None or not announced.takes(key) or name.partition(".")[0] == UNNAMED:
        return None
    return "/".join((*folders[1:], name))


def link(dependencies: Dependencies, workload: Workload) -> Steps[None]:
    """Link the announcement of a key, if there is one, to the first version that is claimed there: a row that leads to it."""
    key = workload.source.key
    *_, identity, _name = ("", *key.split("/"))
    announced = announcements(dependencies).get(identity) if IDENTIFIER.fullmatch(identity) else None
    if announced is None or not announced.takes(key):
        return  # its producer chose the key
    row = Workload(announced.id, workload.source, State.JOINED, None, joined=workload.id)
    with suppress(ConditionFailed):  # a link is never changed
        yield from perform(Effect.LINK, announcements(dependencies).link, row)


def landed_keys(dependencies: Dependencies, announcement: Announcement) -> tuple[str, ...]:
    """Keys of objects that are the data of an announcement: one, unless its producer sent several to its folder."""
    listed = every_version(dependencies.objects, dependencies.places.landing, announcement.key)
    return tuple(each.key for each in listed if each.current and announcement.takes(each.key))


def available(dependencies: Dependencies, keys: Iterable[str]) -> Steps[None]:
    """The producer says that the data is there: give intake the same hint as S3's event."""
    for key in keys:
        yield from perform(Effect.HINT, uploads(dependencies).landed, key)


def _route(dependencies: Dependencies, wanted: WantedDelivery, version: str) -> Route:
    seen = dependencies.registry.contract(wanted.contract) if is_usable(wanted.contract) else RegistrySnapshot()
    known = seen.routes
    majors = {major(version)} if version else {each.major for each in known}
    routes = [each for each in known if each.bucket == dependencies.places.landing and each.major in majors]
    if not routes:
        raise UnknownContract(NO_ROUTE if seen.versions else NO_CONTRACT)
    fitting = [
        route for route in routes if wanted.dataset in {"", route.dataset} and wanted.prefix in {"", route.prefix}
    ]
    if len({each.full_name for each in fitting}) == 1:
        return min(
            fitting, key=lambda each: each.prefix
        )  # several folders of one dataset: any is right, always the same one
    raise InputError(
        f"routes of several datasets fit, name one: {join_words(f'{each.dataset}, {each.prefix}' for each in fitting)}"
        if fitting
        else "no route fits: the contract has no such dataset, or none with this prefix"
    )

"""The inputs of an attempt: request.json, and the request of StartJobRun or Invoke."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from lakegate.base.extension_points import load_extension
from lakegate.contract.delivery_policy import MergeStrategy, PublishAs
from lakegate.gate import lake_layout
from lakegate.gate.datasets.accepted_deliveries import AcceptedBlock, newest_accepted
from lakegate.gate.delivery.delivery_row import Decision, Referred, Workload
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import Block, LedgerObject, LedgerSlice, TableFile
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference, Request, StagedPart
from lakegate.plan.result import Result, WrittenObject
from lakegate.plan.slice_order import WrittenRun, WrittenSlice

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

    WrittenByRun: TypeAlias = WrittenObject | WrittenSlice | WrittenRun


class PublishedRows(NamedTuple):
    """Members of a block about rows in another form than they arrived."""

    slices: tuple[LedgerSlice, ...] | None = None
    watermark: str | None = None
    """Of the dataset, from the slices on."""
    table: tuple[TableFile, ...] | None = None
    rejected_table: tuple[TableFile, ...] | None = None


class Publisher(Protocol):
    """Publishes accepted rows in another form than they arrived: a row of the extension point `publishers`, by `publishAs`."""

    @property
    def folder(self) -> str:
        """The folder of an attempt in which the run writes the rows."""
        ...

    def order(self, turn: DeliveryTurn, request: Request) -> Request:
        """The request with the order for the rows. ConcurrentUpdate while what they are compared with is being committed."""
        ...

    def decided(self, plan: Plan, result: Result, workload: Workload, decision: Decision) -> Decision:
        """The consequences of an acceptance. InputError where the result is none of the plan; of other plans no change."""
        ...

    def is_next(self, turn: DeliveryTurn) -> bool:
        """Whether a delivery that was refused its turn has to wait, and was not overtaken."""
        ...

    def writer(self, turn: DeliveryTurn) -> str:
        """The other delivery that has to be committed before this one goes on; empty: none."""
        ...

    def settled(self, turn: DeliveryTurn) -> Steps[None]:
        """Do the rest for a delivery whose block is in the ledger and whose row was set back; nothing for others."""
        ...

    def copies(self, workload: Workload, result: Result) -> Iterable[tuple[WrittenByRun, str]]:
        """Objects of the attempt, each with the key of its copy."""
        ...

    def listed(self, workload: Workload, result: Result) -> PublishedRows:
        """What the block says of the rows."""
        ...


def publisher_of(terms: Terms) -> Publisher | None:
    """None: accepted rows are published as they arrived, and in no other form."""
    form = terms.policy.publish_as
    if form is PublishAs.ORIGINAL:
        return None
    found: Publisher = load_extension("publishers", form.value)
    return found


def write_request(turn: DeliveryTurn, attempt: int, batch: str = "") -> Steps[Request]:
    """Write `request.json` of an attempt, in the folder of its batch if it has one."""
    request = job_request(turn, attempt, batch)
    prefix = lake_layout.attempt_prefix(turn.row.id, attempt, batch)
    where = turn.gate.in_lake(f"{prefix}/request.json")
    yield from perform(Effect.WRITE_REQUEST, turn.gate.objects.put, where, request.to_bytes())
    return request


def job_request(turn: DeliveryTurn, attempt: int, batch: str = "") -> Request:
    """The content of `request.json`: made only of what is pinned and staged, so that a retry writes the same bytes.

    Only offset and watermark of slices are those of now: what is decided are those in the result, if they still hold then.
    """
    pin, lake = turn.pin, turn.gate.places.lake
    publisher = publisher_of(turn.terms)
    request = Request(
        workload=turn.row.id,
        attempt=attempt,
        plan_uri=plan_uri(turn.gate, pin.plan),
        plan_digest=pin.plan,
        source_version=turn.row.source.version,
        parts=tuple(StagedPart(f"s3://{lake}/{copy.key}", copy.size) for copy in turn.copies),
        judged_at=pin.judging_time,
        output_uri=f"s3://{lake}/{lake_layout.attempt_prefix(turn.row.id, attempt, batch)}",
        references=tuple(referred_data(turn.gate, reference) for reference in pin.references),
    )
    return publisher.order(turn, request) if publisher else request


def plan_uri(dependencies: Dependencies, digest: str) -> str:
    """The address of a plan."""
    return f"s3://{dependencies.places.lake}/plans/{digest}.json"


def referred_data(dependencies: Dependencies, referred: Referred) -> Reference:
    """Accepted data of a dataset up to the pinned height that is not erased: nothing else changes it."""
    objects = accepted_objects(dependencies, referred)
    parts = (
        AcceptedPart(
            uri=f"s3://{dependencies.places.lake}/{stored.object.key}",
            size=stored.object.size,
            plan_uri=plan_uri(dependencies, stored.plan),
            plan_digest=stored.plan,
        )
        for stored in objects
    )
    strategies = {dependencies.terms_at(each.plan, each.workload).policy.merge_strategy for each in objects[-1:]}
    return Reference(referred.dataset, referred.height, tuple(parts), is_corrected=MergeStrategy.UPSERT in strategies)


class AcceptedObject(NamedTuple):
    """An accepted object, as it is now, and what it was accepted with."""

    height: int
    workload: str
    plan: str
    """Digest."""
    object: LedgerObject


def accepted_objects(dependencies: Dependencies, referred: Referred) -> tuple[AcceptedObject, ...]:
    """The rows of a dataset up to a height, in the order of the ledger: of snapshots the newest change, as it arrived.

    Of upserts all slices, which have former values, too (`Reference.is_corrected`).
    """
    if referred.height < 0:
        return ()
    found: list[AcceptedBlock] = []
    is_newest = True
    for each in newest_accepted(dependencies, referred.dataset, referred.height):
        if each.slices and is_newest:
            is_newest = False
            if dependencies.terms_at(each.plan, each.workload).snapshots:
                return _originals(dependencies, referred.dataset, each)
        found.append(each)
    return tuple(
        AcceptedObject(each.height, each.workload, each.plan, one) for each in reversed(found) for one in each.objects
    )


def _originals(dependencies: Dependencies, dataset: str, accepted: AcceptedBlock) -> tuple[AcceptedObject, ...]:
    """The data of a snapshot that arrived, which the manifest does not list."""
    block = dependencies.ledger.block(dataset, accepted.height)
    assert isinstance(block, Block)
    objects = block.objects
    if not accepted.as_committed:
        objects = erasures_of(dependencies.ledger.blocks(dataset)).objects_of(block)
    return tuple(
        AcceptedObject(block.height, block.workload, block.plan, stored)
        for stored in objects
        if lake_layout.is_original(block, dataset, stored.key)
    )

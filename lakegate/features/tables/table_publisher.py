"""Publisher at the gate: the typed files of an accepted delivery, beside what arrived, and beside what was rejected of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import OnReject, PublishAs
from lakegate.gate import lake_layout
from lakegate.gate.delivery.attempt_request import PublishedRows
from lakegate.gate.delivery.delivery_row import Decision, Workload
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Steps
from lakegate.gate.ledger.blocks import TableFile
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result, WrittenFile


class TablePublisher:
    """See `lakegate.gate.delivery.attempt_request.Publisher`. No delivery waits for another one."""

    folder: Final = "table"

    def order(self, _turn: DeliveryTurn, request: Request) -> Request:
        """With typed files."""
        return replace(request, typed_files=True)

    def decided(self, plan: Plan, result: Result, _workload: Workload, decision: Decision) -> Decision:
        """Nothing follows; the typed files have every accepted row, and of what rejects single rows every rejected one."""
        is_table = plan.policy.publish_as is PublishAs.ICEBERG
        rejected = result.rejected_rows if plan.policy.on_reject is OnReject.ROWS else 0
        for files, rows in ((result.typed_files, _typed_rows(plan, result)), (result.rejected_files, rejected)):
            names = [_name(each) for each in files]
            if names != sorted(set(names)):
                raise InputError("typed files are not in the order of the delivery, or have the same name")
            if sum(each.rows for each in files) != (rows if is_table else 0):
                raise InputError("there are typed files of a delivery that has none, or not of all its rows")
        return decision

    def is_next(self, _turn: DeliveryTurn) -> bool:
        """Nothing but the delivery's own state refuses its decision."""
        return True

    def writer(self, _turn: DeliveryTurn) -> str:
        """None."""
        return ""

    def settled(self, _turn: DeliveryTurn) -> Steps[None]:
        """Nothing is left to do."""
        yield from ()

    def copies(self, workload: Workload, result: Result) -> Iterator[tuple[WrittenFile, str]]:
        """The typed files; those of rejected rows are read by who may read what was rejected."""
        for each in result.typed_files:
            yield each, _key("accepted", workload, each)
        for each in result.rejected_files:
            yield each, _key("quarantine", workload, each)

    def listed(self, workload: Workload, result: Result) -> PublishedRows:
        """The published typed files."""
        rejected = tuple(TableFile(_key("quarantine", workload, each), each.rows) for each in result.rejected_files)
        return PublishedRows(
            table=tuple(TableFile(_key("accepted", workload, each), each.rows) for each in result.typed_files),
            rejected_table=rejected or None,
        )


def _typed_rows(plan: Plan, result: Result) -> int:
    """Rows of an accepted delivery that have values: not those that are rejected alone, nor records that cannot be read."""
    if plan.policy.on_reject is OnReject.ROWS:
        return result.rows - result.rejected_rows
    return result.rows - sum(each.rows for each in result.malformed)


def _key(share: str, workload: Workload, written: WrittenFile) -> str:
    name = f"{lake_layout.TABLE}{_name(written)}"
    return lake_layout.destination_key(share, workload.pinned, workload.id, name)


def _name(written: WrittenFile) -> str:
    return written.uri.rpartition("/")[2]


PUBLISHER: Final = TablePublisher()

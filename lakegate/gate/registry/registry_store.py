"""Contracts, versions, routes and proposals as rows of the registry's table, and how they are published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from lakegate.base.errors import AccessDenied, InputError, UnreadableItem
from lakegate.base.json_codec import canonical, decode, encode
from lakegate.gate.ledger.blocks import Record, contract_chain
from lakegate.gate.ledger.ledger_store import head_key, record_writes
from lakegate.gate.registry.registry_rows import (
    Proposal,
    Publication,
    RegistryPage,
    RegistrySnapshot,
    Route,
    SeenParent,
    is_among,
)
from lakegate.gate.table import (
    AllOf,
    AnyOf,
    CheckRow,
    Condition,
    ConditionName,
    Delete,
    Equals,
    Put,
    Row,
    RowAbsent,
    RowKey,
    StoredRecord,
    TableName,
    Tables,
    Write,
    all_readable,
    at_revision,
    batched_rows,
    read_row,
)

PAGE_ITEMS: Final = 500
"""Rows of a page; DynamoDB reads at most one MB of them."""
MAX_CONTENT: Final = 390_000
"""Bytes of the versions and routes of one contract: an item of DynamoDB has at most 400 KB."""


@dataclass(frozen=True, slots=True)
class Registry:
    """Contracts and their routes."""

    table: Tables
    landing: str
    """The bucket whose prefixes are routed."""

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """The routes that stand at these prefixes (at most 100), the longest first: one strongly consistent batch."""
        rows = self.table.batch([_route_key(bucket, prefix) for prefix in prefixes])
        routes: list[Route] = []
        for row in sorted(rows, key=lambda row: len(row.key.name), reverse=True):
            try:
                routes.append(row.decoded(_route))
            except UnreadableItem:
                if not routes:  # it is the most specific one: any other may be another dataset's
                    raise
        return tuple(routes)

    def contract(self, contract: str) -> RegistrySnapshot:
        """The versions and routes of one contract: one strongly consistent read, however large the registry is.

        Where its list is lost, what the rows of its versions and routes have, with the revision 0. The records of the ledger
        tell a lost list from a contract that was never published.
        """
        there = read_row(self.table, _contract_key(contract), _contract)
        if there is not None:
            return there
        return self._found(contract) if self._was_published(contract) else RegistrySnapshot()

    def missing(self, seen: RegistrySnapshot) -> RegistrySnapshot:
        """Those versions and routes of a contract, as `contract` returned it, whose own rows are absent or others."""
        wanted = _own_rows(seen)
        there = {row.key: row for row in batched_rows(self.table, tuple(wanted))}
        return RegistrySnapshot(
            tuple(version for version in seen.versions if _is_other(there, wanted[_version_key(version)])),
            tuple(route for route in seen.routes if _is_other(there, wanted[_route_key(route.bucket, route.prefix)])),
        )

    def damaged(self) -> Mapping[str, tuple[str, ...]]:
        """The contracts whose rows disagree, each with the ids of those that are absent, or are not as the others have it.

        One scan, as `snapshot`. A row that cannot be read is left out: it is no other one.
        """
        rows = {row.key: row for row in self.table.scan(TableName.REGISTRY)}
        lists = {key: row for key, row in rows.items() if key.name.startswith("contract#")}
        contracts = all_readable(self.table, lists.values(), lambda row: (row.key, _contract(row)))
        wanted = {key: _own_rows(snapshot) for key, snapshot in contracts}
        damages: dict[str, set[str]] = {}
        for key, own in wanted.items():
            lost = {name.name for name, row in own.items() if _is_other(rows, row) and _is_readable(rows.get(name))}
            damages.setdefault(key.identity, set()).update(lost)
        for key, row in rows.items():
            if key.name.startswith(("version#", "route#")) and row.has("contract"):
                listed_by = _contract_key(row.text("contract"))
                is_unreadable = listed_by in lists and listed_by not in wanted
                if not is_unreadable and key not in wanted.get(listed_by, {}):
                    damages.setdefault(row.text("contract"), set()).add(listed_by.name)
        return {name: tuple(sorted(lost)) for name, lost in sorted(damages.items()) if lost}

    def publish(
        self,
        publication: Publication,
        seen: RegistrySnapshot | None = None,
        record: Record | None = None,
        parent: SeenParent | None = None,
        proposal: Proposal | None = None,
    ) -> None:
        """Write version, routes, the list of the contract and a record of the ledger, and remove a proposal, in one transaction.

        Of a parent the list of children is written, if nobody has written the parent since it was read (reason `parent`).

        `seen` is the contract as `contract` returned it: what was decided by it is written only if nobody has written since.
        Raises ConditionFailed: `version` if the version is published with another content, `prefix`
        if the prefix belongs to another dataset, `contract` if somebody else has written, `proposal` if it is not there any
        more, and as `Ledger.append`.
        """
        before = self.contract(publication.contract) if seen is None else seen
        own = Equals("contract", publication.contract)
        writes: list[Write] = [
            Put(
                _version_row(publication),
                AnyOf(RowAbsent(), Equals("document", publication.document)),
                ConditionName.VERSION,
            ),
            *(
                Put(
                    _route_row(route),
                    AnyOf(RowAbsent(), AllOf(own, Equals("dataset", route.dataset))),
                    ConditionName.PREFIX,
                )
                for route in publication.routes
            ),
            *(
                Delete(_route_key(self.landing, prefix), AnyOf(RowAbsent(), own), ConditionName.PREFIX)
                for prefix in publication.retired
            ),
            _listed(publication.contract, before.after(publication), ConditionName.CONTRACT),
        ]
        if parent is not None:
            writes.append(_listed(parent.contract, parent.seen.with_child(publication.contract), ConditionName.PARENT))
        if proposal is not None:
            key = _proposal_key(publication.contract, publication.version)
            writes.append(Delete(key, _if_unchanged(proposal), ConditionName.PROPOSAL))
        self.table.transact(writes if record is None else [*writes, *record_writes(record)])

    def snapshot(self, prefix: str = "") -> RegistrySnapshot:
        """All contracts, for people: row by row, so it is not a snapshot, but what was there before the call is in it.

        A version is in it if its own row or the list of its contract has it; routes are those by which deliveries are judged.
        With the prefix of their ids what else has versions: published workflows.
        """
        everything = list(self.table.scan(TableName.REGISTRY))
        own = all_readable(self.table, _of_kind(everything, "version"), _publication)
        versions = {_version_key(each): each for each in own}
        for contract in all_readable(self.table, _of_kind(everything, "contract"), _contract):
            for version in contract.versions:
                versions.setdefault(_version_key(version), version)
        return RegistrySnapshot(
            tuple(version for version in versions.values() if is_among(version.contract, prefix)),
            tuple(all_readable(self.table, _of_kind(everything, "route"), _route)),
        )

    def page(self, after: str, prefix: str = "") -> RegistryPage:
        """The next contracts after a place, from the beginning if it is empty. All pages together have every contract.

        With the prefix of their ids what else has versions, as `snapshot`.
        """
        rows, following = self.table.page(TableName.REGISTRY, "contract", after, PAGE_ITEMS)
        contracts = all_readable(self.table, (row for row in rows if is_among(row.key.identity, prefix)), _contract)
        return RegistryPage(tuple(contracts), following)

    def pages(self, prefix: str = "") -> Iterator[RegistryPage]:
        """Every page, read when it is asked for."""
        page = self.page("", prefix)
        yield page
        while page.after:
            page = self.page(page.after, prefix)
            yield page

    def propose(self, proposal: Proposal, seen: Proposal | None) -> None:
        """Put a proposal in the place of the one that was seen.

        Raises ConditionFailed with the reasons `proposal`, if another one is there now, and `contract`, if that has another
        revision than the proposal's base.
        """
        publication = proposal.publication
        key = _proposal_key(publication.contract, publication.version)
        row = Row(key, {"digest": proposal.digest, "proposal": canonical(proposal).decode()})
        base = CheckRow(_contract_key(publication.contract), at_revision(proposal.base), ConditionName.CONTRACT)
        self.table.transact([Put(row, _if_unchanged(seen), ConditionName.PROPOSAL), base])

    def decline(self, proposal: Proposal, record: Record) -> None:
        """Remove a proposal and append the record of that, in one transaction.

        Raises ConditionFailed with the reason `proposal`, if it is not there any more, and as `Ledger.append`.
        """
        key = _proposal_key(proposal.publication.contract, proposal.publication.version)
        self.table.transact([Delete(key, _if_unchanged(proposal), ConditionName.PROPOSAL), *record_writes(record)])

    def proposal(self, contract: str, version: str) -> Proposal | None:
        """The proposal of a version; strongly consistent."""
        return read_row(self.table, _proposal_key(contract, version), _proposal)

    def proposals(self) -> tuple[Proposal, ...]:
        """All proposals, for people, as `snapshot` reads."""
        rows = _of_kind(self.table.scan(TableName.REGISTRY), "proposal")
        return tuple(all_readable(self.table, rows, _proposal))

    def _was_published(self, contract: str) -> bool:
        """Whether the ledger has records of a contract; not, for who may not read it: publishers may."""
        try:
            return self.table.get(head_key(contract_chain(contract))) is not None
        except AccessDenied:
            return False

    def _found(self, contract: str) -> RegistrySnapshot:
        """A contract by the rows of its versions and routes: one scan. Raises UnreadableItem: a list is written of this."""
        everything = list(self.table.scan(TableName.REGISTRY))
        versions = [row.decoded(_publication) for row in _of_kind(everything, "version")]
        routes = [row.decoded(_route) for row in _of_kind(everything, "route")]
        return RegistrySnapshot(
            tuple(version for version in versions if version.contract == contract),
            tuple(route for route in routes if route.contract == contract),
            children=tuple(sorted({version.contract for version in versions if version.parent == contract})),
        )


# ---- Keys ----


def _contract_key(contract: str) -> RowKey:
    return RowKey(TableName.REGISTRY, f"contract#{contract}")


def _version_key(publication: Publication) -> RowKey:
    return RowKey(TableName.REGISTRY, f"version#{publication.contract}#{publication.version}")


def _route_key(bucket: str, prefix: str) -> RowKey:
    return RowKey(TableName.REGISTRY, f"route#{bucket}/{prefix}")


def _proposal_key(contract: str, version: str) -> RowKey:
    return RowKey(TableName.REGISTRY, f"proposal#{contract}#{version}")


def _of_kind(rows: Iterable[Row], kind: str) -> Iterator[Row]:
    return (row for row in rows if row.key.name.startswith(f"{kind}#"))


# ---- The row that lists all versions and routes of a contract ----


def _listed(contract: str, snapshot: RegistrySnapshot, reason: ConditionName) -> Put:
    """The list of a contract, written if it is one revision older."""
    content = json.dumps(encode(snapshot), separators=(",", ":"))
    if len(content) > MAX_CONTENT:
        raise InputError(
            f"the versions, routes and children of {contract} need more than {MAX_CONTENT:,} bytes: use another id"
        )
    row = Row(
        _contract_key(contract), {"revision": snapshot.revision, "content": StoredRecord(snapshot, lambda: content)}
    )
    return Put(row, at_revision(snapshot.revision - 1), reason)


def _contract(row: Row) -> RegistrySnapshot:
    return row.record("content", partial(_content, row.number("revision")))


def _content(revision: int, text: str) -> RegistrySnapshot:
    return replace(decode(RegistrySnapshot, json.loads(text)), revision=revision)


# ---- Rows of versions, routes and proposals ----


def _version_row(publication: Publication) -> Row:
    """The members in conditions are attributes of their own."""
    values = {"contract": publication.contract, "document": publication.document}
    return Row(_version_key(publication), {**values, "content": canonical(publication).decode()})


def _publication(row: Row) -> Publication:
    return decode(Publication, json.loads(row.text("content")))


def _route_row(route: Route) -> Row:
    return Row(_route_key(route.bucket, route.prefix), encode(route))


def _route(row: Row) -> Route:
    return decode(Route, row.values)


def _own_rows(seen: RegistrySnapshot) -> dict[RowKey, Row]:
    """The row of each version and route of a contract, by its key."""
    return {row.key: row for row in (*map(_version_row, seen.versions), *map(_route_row, seen.routes))}


def _is_readable(row: Row | None) -> bool:
    try:
        if row is not None:
            row.decoded(_publication if row.key.name.startswith("version#") else _route)
    except UnreadableItem:
        return False
    return True


def _is_other(there: Mapping[RowKey, Row], wanted: Row) -> bool:
    """Whether a row is lost, or is not as it should be; a newer release may have written more attributes."""
    row = there.get(wanted.key)
    return row is None or any(row.values.get(name) != value for name, value in wanted.values.items())


def _proposal(row: Row) -> Proposal:
    return decode(Proposal, json.loads(row.text("proposal")))


def _if_unchanged(seen: Proposal | None) -> Condition:
    """The row of a proposal is the one that was seen."""
    return RowAbsent() if seen is None else Equals("digest", seen.digest)

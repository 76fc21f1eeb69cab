"""The registry's table in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.errors import ConditionFailed, InputError
from lakegate.gate.registry.registry_rows import RegistryPage, RegistrySnapshot, is_among

if TYPE_CHECKING:
    from lakegate.gate.ledger.blocks import Record
    from lakegate.gate.registry.registry_rows import Proposal, Publication, Route, SeenParent
    from tests.fakes.fault_injector import FaultInjector
    from tests.fakes.ledger import MemoryLedger

MAX_BATCH = 100
MAX_TRANSACTION = 100
PAGE = 2


class MemoryRegistry:
    """Versions of contracts, and the route of each prefix."""

    def __init__(self, faults: FaultInjector, ledger: MemoryLedger) -> None:
        self._faults = faults
        self._ledger = ledger
        self._routes: dict[tuple[str, str], Route] = {}
        self._contracts: dict[str, RegistrySnapshot] = {}
        self._proposals: dict[tuple[str, str], Proposal] = {}
        self.versions: dict[tuple[str, str], Publication] = {}

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """One consistent batch."""
        if len(prefixes) > MAX_BATCH:
            raise InputError("a batch reads at most 100 prefixes")
        return tuple(self._routes[bucket, each] for each in prefixes if (bucket, each) in self._routes)

    def contract(self, contract: str) -> RegistrySnapshot:
        """What was written of one contract; without its list, by the items of its versions and routes."""
        if contract in self._contracts:
            return self._contracts[contract]
        own = (each for each in self.versions.values() if each.contract == contract)
        return RegistrySnapshot(
            tuple(replace(each, routes=(), retired=()) for each in own),
            tuple(each for each in self._routes.values() if each.contract == contract),
        )

    def missing(self, seen: RegistrySnapshot) -> RegistrySnapshot:
        """Versions and routes that are not as they were seen."""
        own = {replace(each, routes=(), retired=()) for each in self.versions.values()}
        there = set(self._routes.values())
        return RegistrySnapshot(
            tuple(each for each in seen.versions if each not in own),
            tuple(each for each in seen.routes if each not in there),
        )

    def propose(self, proposal: Proposal, seen: Proposal | None) -> None:
        """Put if proposal and contract are unchanged."""
        self._faults.pass_or_refuse()
        key = (proposal.publication.contract, proposal.publication.version)
        changed = "" if self._proposals.get(key) == seen else "proposal"
        moved = "" if self.contract(key[0]).revision == proposal.base else "contract"
        if changed or moved:
            raise ConditionFailed(changed, moved)
        self._proposals[key] = proposal

    def proposal(self, contract: str, version: str) -> Proposal | None:
        """The one there is."""
        return self._proposals.get((contract, version))

    def proposals(self) -> tuple[Proposal, ...]:
        """All of them."""
        return tuple(self._proposals.values())

    def damaged(self) -> dict[str, tuple[str, ...]]:
        """By contract: versions, prefixes, and the contract itself if its list lacks one of its own."""
        found: dict[str, tuple[str, ...]] = {}
        for name in {*self._contracts, *(contract for contract, _ in self.versions)}:
            lost = self.missing(self.contract(name))
            unlisted = () if name in self._contracts else (name,)
            found[name] = (*unlisted, *(each.version for each in lost.versions), *(each.prefix for each in lost.routes))
        return {name: lost for name, lost in found.items() if lost}

    def publish(
        self,
        publication: Publication,
        seen: RegistrySnapshot | None = None,
        record: Record | None = None,
        parent: SeenParent | None = None,
        proposal: Proposal | None = None,
    ) -> None:
        """Version, routes, the list of the contract and the record, all or nothing.

        Only the status of a published version may change.
        """
        self._faults.pass_or_refuse()
        there = self.contract(publication.contract)
        fixed = 2 + (0 if record is None else 3) + (parent is not None) + (proposal is not None)
        if fixed + len(publication.routes) + len(publication.retired) > MAX_TRANSACTION:
            raise InputError("a transaction has at most 100 items")
        before = self.versions.get((publication.contract, publication.version))
        reasons = ["" if before is None or before.document == publication.document else "version"]
        reasons += ["" if self._is_free(route) else "prefix" for route in publication.routes]
        reasons += ["" if self._may_go(publication, prefix) else "prefix" for prefix in publication.retired]
        reasons.append("" if seen is None or seen.revision == there.revision else "contract")
        if parent is not None:
            reasons.append("" if parent.seen.revision == self.contract(parent.contract).revision else "parent")
        key = (publication.contract, publication.version)
        if proposal is not None:
            reasons.append("" if self._proposals.get(key) == proposal else "proposal")
        reasons += self._ledger.reasons(record) if record else ()
        if any(reasons):
            raise ConditionFailed(*reasons)
        if record is not None:
            self._ledger.write(record)
        if proposal is not None:
            del self._proposals[key]
        self._contracts[publication.contract] = there.after(publication)
        if parent is not None:
            self._contracts[parent.contract] = parent.seen.with_child(publication.contract)
        self.versions[publication.contract, publication.version] = publication
        for route in publication.routes:
            self._routes[route.bucket, route.prefix] = route
        for bucket, prefix in [at for at in self._routes if at[1] in publication.retired]:
            del self._routes[bucket, prefix]

    def snapshot(self, prefix: str = "") -> RegistrySnapshot:
        """All of both, or those with ids that begin so."""
        lists = [each for contract in self._contracts.values() for each in contract.versions]
        own = {(each.contract, each.version): each for each in (*lists, *self.versions.values())}
        versions = (replace(each, routes=(), retired=()) for each in own.values() if is_among(each.contract, prefix))
        return RegistrySnapshot(tuple(versions), tuple(self._routes.values()))

    def page(self, after: str, prefix: str = "") -> RegistryPage:
        """A few contracts, so that every test meets several pages."""
        names = sorted(name for name in self._contracts if name > after and is_among(name, prefix))
        shown, more = names[:PAGE], names[PAGE:]
        return RegistryPage(tuple(self._contracts[each] for each in shown), shown[-1] if more else "")

    def _may_go(self, publication: Publication, prefix: str) -> bool:
        there = [each for (_, at), each in self._routes.items() if at == prefix]
        return all(each.contract == publication.contract for each in there)

    def _is_free(self, route: Route) -> bool:
        there = self._routes.get((route.bucket, route.prefix))
        return there is None or (there.contract, there.dataset) == (route.contract, route.dataset)

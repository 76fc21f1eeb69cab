"""Versions and routes of contracts, proposals, and the port of their rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from lakegate.contract.contract_model import COMMON, line_of
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named
from lakegate.json_codec import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.gate.ledger.blocks import Record


@dataclass(frozen=True, slots=True)
class Route:
    """The registration of a prefix: everything that intake needs from the registry."""

    bucket: str
    prefix: str
    """Ends in `/`, so that `a/` never covers `ab`."""
    contract: str
    dataset: str
    major: int
    version: str
    status: str
    """`active`, `deprecated` or `retired`."""
    plan: str
    """Digest of the compiled plan."""

    @property
    def line(self) -> str:
        """Folder and chain of the dataset line."""
        return line_of(self.contract, self.dataset, self.major)


WITHDRAWN: Final = "withdrawn"
"""The status of a version that was taken back: its line goes on with the version before, and its number is not used again."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One contract version made valid: all its routes, in one transaction (at most 94)."""

    contract: str
    version: str
    status: str
    document: str
    """The key of the document in the lake bucket."""
    routes: tuple[Route, ...]
    retired: tuple[str, ...] = ()
    """Prefixes whose route this publication takes away."""
    plans: tuple[tuple[str, str], ...] = ()
    """Each dataset with the digest of its plan, so that a later route needs no compiler."""
    unmeasured_rules: int = 0
    """The number of its rules that can never be measured; the publisher allowed that."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels by which people find it, such as `("owner", "sales")`; empty for a version of an older release."""
    needs: tuple[tuple[str, str], ...] = ()
    """The contract versions that it inherits from, the nearest first, each with the key of its document in the lake bucket."""
    inherited_from: str = ""
    """From when contracts inherit from it (RFC 3339, UTC, six decimals); empty: since it is published."""
    shared_with: tuple[str, ...] = ()
    """As `Contract.shared_with`."""
    own: tuple[str, ...] = EVERY_CONTRACT
    """The contracts that its publisher may use beside this one, as `contract_owners` names them: its rules refer
    to the data of these, and of what is shared with it."""

    def is_open_to(self, contract: str, own: tuple[str, ...]) -> bool:
        """Whether a contract, whose publisher may use `own`, may refer to this one: it is the same, own, or shared with it."""
        return self.contract == contract or are_named(own, self.contract) or are_named(self.shared_with, contract)

    @property
    def datasets(self) -> list[str]:
        """Its datasets; `*` (`Contract.common`) for a version that has only what others inherit."""
        return [dataset for dataset, _plan in self.plans] or [COMMON]

    @property
    def parent(self) -> str:
        """The id of the contract that it inherits from; empty if none."""
        return self.needs[0][0].rpartition("@")[0] if self.needs else ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A contract version that somebody wants to publish, and that another person has to approve."""

    publication: Publication
    """Without routes: those are decided when it is approved."""
    proposer: str
    """The caller's ARN."""
    proposed_at: str
    """RFC 3339, UTC."""
    expires_at: str
    """Likewise; from then on it cannot be approved."""
    base: int
    """The revision of the contract that it was proposed for."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that is proposed: another proposal of the version has another one."""
        return digest(self)

    def is_expired(self, now: datetime) -> bool:
        """Whether it is too late to approve it."""
        return now >= datetime.fromisoformat(self.expires_at)


PROPOSALS: Final = "proposals"
"""The extension point of the feature that lets a second person approve: the use case `propose`, and the parts of the commands
`publish`, `withdraw` and `approve` where a stack wants two people."""


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """The versions and routes of the registry, or of one contract."""

    versions: tuple[Publication, ...] = ()
    """Without routes: those stand beside, as they are now."""
    routes: tuple[Route, ...] = ()
    revision: int = 0
    """The number of writes of the contract; 0 for a snapshot of the whole registry, and for a contract without a list."""

    children: tuple[str, ...] = ()
    """The ids of the contracts that inherit from the contract, sorted."""

    unknown: str = "{}"
    """Keys of a newer release, as JSON: they are written again as they were."""

    @property
    def standing(self) -> tuple[Publication, ...]:
        """The versions that were not withdrawn."""
        return tuple(each for each in self.versions if each.status != WITHDRAWN)

    def has(self, publication: Publication) -> bool:
        """Whether writing the publication would change nothing."""
        version = replace(publication, routes=(), retired=())
        is_gone = not {each.prefix for each in self.routes} & set(publication.retired)
        return version in self.versions and set(publication.routes) <= set(self.routes) and is_gone

    def with_child(self, child: str) -> RegistrySnapshot:
        """The contract once a child is written."""
        children = tuple(sorted({*self.children, child}))
        return replace(self, children=children, revision=self.revision + 1)

    def after(self, publication: Publication) -> RegistrySnapshot:
        """The contract once the publication is written."""
        written = {each.prefix for each in publication.routes} | set(publication.retired)
        return RegistrySnapshot(
            (
                *(each for each in self.versions if each.version != publication.version),
                replace(publication, routes=(), retired=()),
            ),
            (*(each for each in self.routes if each.prefix not in written), *publication.routes),
            self.revision + 1,
            self.children,
            self.unknown,
        )


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """Contracts that one bounded read found, in no order."""

    contracts: tuple[RegistrySnapshot, ...]
    after: str
    """The beginning of the next page; empty after the last one."""


@dataclass(frozen=True, slots=True)
class SeenParent:
    """A contract that a new version inherits from, as it was read."""

    contract: str
    seen: RegistrySnapshot


def is_among(name: str, prefix: str = "") -> bool:
    """Whether an id is listed with contracts, or among those with a prefix: no contract has an id that begins with `_`."""
    return name.startswith(prefix or "_") is bool(prefix)


class Registry(Protocol):
    """Contracts and their routes."""

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """The routes that stand at these prefixes (at most 100): one strongly consistent batch."""
        ...

    def contract(self, contract: str) -> RegistrySnapshot:
        """The versions and routes of one contract: one strongly consistent read, however large the registry is.

        Where its list is lost, what the items of its versions and routes have, with the revision 0.
        """
        ...

    def missing(self, seen: RegistrySnapshot) -> RegistrySnapshot:
        """Those versions and routes of a contract, as `contract` returned it, whose own items are absent or others."""
        ...

    def damaged(self) -> Mapping[str, tuple[str, ...]]:
        """The contracts whose items disagree, each with the ids of those that are absent, or are not as the others have it."""
        ...

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
        Raises ConditionFailed, with a reason for each item: `version` if the version is published with another content, `prefix`
        if the prefix belongs to another dataset, `contract` if somebody else has written, `proposal` if it is not there any
        more; the reasons of the record's items follow, as `Ledger.append` has them.
        """
        ...

    def snapshot(self, prefix: str = "") -> RegistrySnapshot:
        """All contracts, for people: item by item, so it is not a snapshot, but what was there before the call is in it.

        A version is in it if its own item or the list of its contract has it; routes are those by which deliveries are judged.
        With the prefix of their ids what else has versions: published workflows.
        """
        ...

    def page(self, after: str, prefix: str = "") -> RegistryPage:
        """The next contracts after a place, from the beginning if it is empty. All pages together have every contract.

        With the prefix of their ids what else has versions, as `snapshot`.
        """
        ...

    def propose(self, proposal: Proposal, seen: Proposal | None) -> None:
        """Put a proposal in the place of the one that was seen.

        Raises ConditionFailed with the reasons `proposal`, if another one is there now, and `contract`, if that has another
        revision than the proposal's base.
        """
        ...

    def proposal(self, contract: str, version: str) -> Proposal | None:
        """The proposal of a version; strongly consistent."""
        ...

    def proposals(self) -> tuple[Proposal, ...]:
        """All proposals, for people, as `snapshot` reads."""
        ...


RETIRED = "retired"
"""The status of a version that accepts no delivery any more."""

"""Versions and routes of contracts, and proposals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lakegate.base.errors import Problem
from lakegate.base.json_codec import EXTENSIONS, UNWRITTEN, digest, omit_default
from lakegate.base.text import is_one_of
from lakegate.contract.contract_model import COMMON, full_dataset_name
from lakegate.contract.semantic_versions import Precedence, major, precedence
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named


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
    def full_name(self) -> str:
        """Folder and chain of the dataset."""
        return full_dataset_name(self.contract, self.dataset, self.major)


WITHDRAWN: Final = "withdrawn"
"""The status of a version that was taken back: its dataset goes on with the version before, and its number is not used again."""


class NumberedVersion:
    """A version of a contract, by its number."""

    __slots__ = ()
    contract: str
    version: str
    document_id: str

    @property
    def id(self) -> str:
        """The id that its document has."""
        return self.document_id or self.contract

    @property
    def major(self) -> int:
        """The major number, which its datasets have in their names."""
        return major(self.version)

    @property
    def precedence(self) -> Precedence:
        """The key by which versions are sorted."""
        return precedence(self.version)

    def full_name(self, dataset: str) -> str:
        """The name of one of its datasets, with contract and major number."""
        return full_dataset_name(self.contract, dataset, self.major)


@dataclass(frozen=True, slots=True)
class Publication(NumberedVersion):
    """One contract version made valid: all its routes, in one transaction (at most 94)."""

    contract: str
    version: str
    status: str
    document: str
    """The key of the document in the lake bucket."""
    routes: tuple[Route, ...] = field(default=(), metadata=UNWRITTEN)
    """Written as rows of their own."""
    retired: tuple[str, ...] = field(default=(), metadata=UNWRITTEN)
    """Prefixes whose route this publication takes away."""
    plans: tuple[tuple[str, str], ...] = omit_default(())
    """Each dataset with the digest of its plan, so that a later route needs no compiler."""
    unmeasured_rules: int = omit_default(0)
    """The number of its rules that can never be measured; the publisher allowed that."""
    labels: tuple[tuple[str, str], ...] = omit_default(())
    """Labels by which people find it, such as `("owner", "sales")`."""
    needs: tuple[tuple[str, str], ...] = omit_default(())
    """The contract versions that it inherits from, the nearest first, each with the key of its document in the lake bucket."""
    inherited_from: str = omit_default("")
    """From when contracts inherit from it (RFC 3339, UTC, six decimals); empty: since it is published."""
    shared_with: tuple[str, ...] = omit_default(())
    """As `Contract.shared_with`."""
    own: tuple[str, ...] = omit_default(EVERY_CONTRACT)
    """The contracts that its publisher may use beside this one, as `contract_owners` names them: its rules refer
    to the data of these, and of what is shared with it."""
    document_id: str = omit_default("")
    """The id in its document, where it ends in the number of the version; empty where it is `contract`."""

    def is_open_to(self, contract: str, own: tuple[str, ...]) -> bool:
        """Whether a contract, whose publisher may use `own`, may refer to this one: it is the same, own, or shared with it."""
        return self.contract == contract or are_named(own, self.contract) or are_named(self.shared_with, contract)

    def has_label(self, name: str, wanted: Sequence[str] | None) -> bool:
        """Whether it has a label with one of the values, in upper or lower case; without values, any has."""
        return is_one_of(wanted, (value for label, value in self.labels if label == name))

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
"""The extension point of the feature that lets a second person approve: what `approve` and `withdraw` do where a stack wants two
people. The use case `propose` has the point `version approval`, which the functions ask, too."""


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """The versions and routes of the registry, or of one contract."""

    versions: tuple[Publication, ...] = ()
    """Without routes: those stand beside, as they are now."""
    routes: tuple[Route, ...] = ()
    revision: int = field(default=0, metadata=UNWRITTEN)
    """The number of writes of the contract; 0 for a snapshot of the whole registry, and for a contract without a list."""

    children: tuple[str, ...] = omit_default(())
    """The ids of the contracts that inherit from the contract, sorted."""

    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def standing(self) -> tuple[Publication, ...]:
        """The versions that were not withdrawn."""
        return tuple(version for version in self.versions if version.status != WITHDRAWN)

    @property
    def by_number(self) -> dict[str, Publication]:
        """The versions of one contract, by their numbers."""
        return {version.version: version for version in self.versions}

    def has(self, publication: Publication) -> bool:
        """Whether writing the publication would change nothing."""
        version = replace(publication, routes=(), retired=())
        is_gone = not {route.prefix for route in self.routes} & set(publication.retired)
        return version in self.versions and set(publication.routes) <= set(self.routes) and is_gone

    def with_child(self, child: str) -> RegistrySnapshot:
        """The contract once a child is written."""
        children = tuple(sorted({*self.children, child}))
        return replace(self, children=children, revision=self.revision + 1)

    def after(self, publication: Publication) -> RegistrySnapshot:
        """The contract once the publication is written."""
        written = {route.prefix for route in publication.routes} | set(publication.retired)
        return RegistrySnapshot(
            (
                *(version for version in self.versions if version.version != publication.version),
                replace(publication, routes=(), retired=()),
            ),
            (*(route for route in self.routes if route.prefix not in written), *publication.routes),
            self.revision + 1,
            self.children,
            self.extensions,
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


@dataclass(frozen=True, slots=True)
class WeakerChild:
    """A published contract that is weaker than a new version of its parent, and could not inherit from it."""

    contract: str
    version: str
    owner: str
    errors: tuple[Problem, ...]
    """In the document of the child."""
    datasets: tuple[str, ...] = field(default=(), metadata=UNWRITTEN)
    """Its datasets; of a contract without schema objects one that stands for it."""


def is_among(name: str, prefix: str = "") -> bool:
    """Whether an id is listed with contracts, or among those with a prefix: no contract has an id that begins with `_`."""
    return name.startswith(prefix or "_") is bool(prefix)


RETIRED = "retired"
"""The status of a version that accepts no delivery any more."""

"""A version that was published by mistake is taken back: its dataset goes on with the version before.

1. The version is the current one of its dataset, and another one precedes it.
2. What it allows beyond the version before has let nothing in: else consumers could rely on it, and only a MAJOR version ends it.
3. One transaction writes its status `withdrawn`, the routes with the version before, and the record of the ledger.

The version stays in the registry under its number, which is not used again. The next version is compared with the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.text import join_words
from lakegate.contract.semantic_versions import major, precedence
from lakegate.diff.change_kinds import Change
from lakegate.diff.diff_contracts import compare
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.registry.contract_versions import published_by, read_published, write
from lakegate.gate.registry.registry_rows import WITHDRAWN, Proposal, Publication, RegistrySnapshot
from lakegate.gate.registry.routes import bind_route, leading

ADDED: Final = frozenset({"dataset-added", "optional-field-added", "required-field-added"})
"""Kinds of change that give consumers something to read, whether or not they allow more."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A version that can be taken back, as the registry is now."""

    publication: Publication
    """The version with its status `withdrawn`, and the routes with the version before."""
    current: Publication
    """The version before, by which deliveries are judged then."""
    is_done: bool = False
    """Whether it was taken back before."""


def planned_withdrawal(dependencies: Dependencies, seen: RegistrySnapshot, contract: str, version: str) -> Withdrawal:
    """Read only. Raises InputError where the version is not published, not the current one, the first one, or relied on."""
    found = seen.by_number.get(version)
    if found is None:
        raise InputError(f"{contract} has no version {version}: `lakegate contracts` lists those that are published")
    number = major(version)
    others = replace(seen, versions=tuple(each for each in seen.versions if each.version != version))
    current = leading(others, contract, number)
    if current is None:
        raise InputError(
            f"{version} is the only version {number}.x of {contract}: end its datasets instead (lakegate retire)"
        )
    if found.status == WITHDRAWN:
        return Withdrawal(found, current, is_done=True)
    if current.precedence > precedence(version):
        raise InputError(
            f"{current.version} follows {version}: withdraw {current.version} first, or publish a newer one"
        )
    _refuse_relied_on(dependencies, found, current)
    routes = [route for route in seen.routes if (route.contract, route.major) == (contract, number)]
    moved = tuple(bind_route(route, current) for route in routes)
    return Withdrawal(replace(found, status=WITHDRAWN, routes=moved), current)


def withdraw(
    dependencies: Dependencies, contract: str, version: str, proposal: Proposal | None = None
) -> Steps[Withdrawal]:
    """Take a version back. Idempotent. Raises InputError as `planned_withdrawal`.

    `proposal`: which the caller may approve; it raises InputError too if the contract was changed since.
    """
    plans: list[Withdrawal] = []

    def decide(seen: RegistrySnapshot) -> Publication:
        if proposal is not None and seen.revision != proposal.base:
            raise InputError(f"{contract} was changed since this was proposed: withdraw the version again")
        plans.append(planned_withdrawal(dependencies, seen, contract, version))
        return plans[-1].publication

    yield from write(dependencies, contract, decide, published_by(proposal))
    return plans[-1]


def _refuse_relied_on(dependencies: Dependencies, found: Publication, before: Publication) -> None:
    """Raise InputError where deliveries were accepted under a version that allows more, or has more fields, than before."""
    compared = compare(read_published(dependencies, before), read_published(dependencies, found))
    more = [change for change in compared.changes if change.effect.consumer or change.kind in ADDED]
    accepted = [each for dataset, _ in found.plans for each in _accepted(dependencies, found, dataset)] if more else []
    if accepted:
        raise InputError(
            f"{found.version} allows what {before.version} does not ({join_words(map(_in_words, more))}), and deliveries were"
            f" accepted under it: {join_words(accepted)}. Consumers may rely on that: publish {found.major + 1}.0.0"
        )


def _accepted(dependencies: Dependencies, found: Publication, dataset: str) -> list[str]:
    """The deliveries to a dataset that were accepted under a version, by no waiver."""
    name = found.full_name(dataset)
    return [
        f"{name} {block.height}"
        for block in dependencies.ledger.blocks(name)
        if isinstance(block, Block)
        and (block.kind, block.contract_version, block.waiver) == (BlockKind.PUBLISHED, found.version, None)
    ]


def _in_words(change: Change) -> str:
    return f"{change.kind} at {change.path}"

"""A new version of a parent that published contracts are weaker than: refused, or inherited later, with notice to their owners.

`lakegate publish --from DAY` stores the version at once. Until the day, contracts are published with the version before. Each
line of a contract that would be weaker has the notice in its item, before the version is written; the same transaction has
the record and the message of the outbox (`lakegate.functions.usecases.lifecycle`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import LONGEST_TEXT, ParentNotice
from lakegate.contracts.lake.transitions import parent_announced
from lakegate.contracts.words import listed, printable
from lakegate.functions.usecases.lifecycle import PARENT, change
from lakegate.functions.usecases.parents import BreaksChildren, broken_children

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parents import BrokenChild
    from lakegate.functions.usecases.publish_contract import CompiledContract
    from lakegate.functions.usecases.steps import Steps


def refuse_breaking(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract, now: str) -> None:
    """Raise BreaksChildren if a version that is inherited from now on is stricter than the newest version of a child."""
    if compiled.inherited_from:
        return
    broken = broken_children(dependencies, seen, compiled, now)
    if broken:
        raise BreaksChildren(broken)


def children_to_notify(
    dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract
) -> tuple[BrokenChild, ...]:
    """The contracts that are weaker than a version which is inherited later; none if it is published already."""
    at = compiled.inherited_from
    if not at or any(each.version == compiled.version for each in seen.versions):
        return ()
    return broken_children(dependencies, seen, compiled, at)


def announce(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """Give notice to the lines of these contracts, once."""
    for child in children_to_notify(dependencies, seen, compiled):
        for line in child.lines:
            decide = partial(parent_announced, notice=_notice(compiled, child))
            yield from change(dependencies, line, PARENT, decide)


def refuse_unannounced(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> None:
    """Raise InputError where a contract was published since the notices were given."""
    missing = [
        child
        for child in children_to_notify(dependencies, seen, compiled)
        if any(_notice(compiled, child) not in dependencies.lines.get(line).parents for line in child.lines)
    ]
    if missing:
        names = listed(f"{each.contract} {each.version}" for each in missing)
        raise InputError(f"contracts that inherit from it were published meanwhile: {names}; publish again")


def _notice(compiled: CompiledContract, child: BrokenChild) -> ParentNotice:
    owner = printable(child.owner)[:LONGEST_TEXT]
    return ParentNotice(f"{compiled.contract}@{compiled.version}", compiled.inherited_from, owner)

"""A new version of a parent that published contracts are weaker than: refused, or inherited later, with notice to their owners.

`lakegate publish --from DAY` stores the version at once. Until the day, contracts are published with the version before. Each
line of a contract that would be weaker has the notice in its item, before the version is written; the same transaction has
the record and the message of the outbox (`lakegate.functions.usecases.lifecycle`). Who publishes a contract after
that is warned at each place that is weaker.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.inherit.resolve import pinned, resolve
from lakegate.contracts.lake.lifecycle import LONGEST_TEXT, ParentNotice, moment
from lakegate.contracts.lake.transitions import parent_announced
from lakegate.contracts.lake.versions import is_release, major, precedence
from lakegate.contracts.words import listed, printable
from lakegate.functions.usecases.lifecycle import PARENT, change
from lakegate.functions.usecases.parents import (
    BreaksChildren,
    broken_children,
    document_of,
    newest_release,
    only,
    parent_in_force,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.errors import Problem
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parents import BrokenChild
    from lakegate.functions.usecases.publish_contract import CompiledContract
    from lakegate.functions.usecases.steps import Steps


def weaker_later(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> tuple[Problem, ...]:
    """Where a document is weaker than versions of its parent that are announced and will be in force.

    There are none for a release with a higher one in its line, and for a pre-release, as for published contracts.
    """
    newest = newest_release(seen, major(compiled.version))
    is_older = newest is not None and precedence(newest.version) > precedence(compiled.version)
    if not compiled.needs or is_older or not is_release(compiled.version):
        return ()
    return tuple(_weaker_later(dependencies, compiled))


def _weaker_later(dependencies: Dependencies, compiled: CompiledContract) -> Iterator[Problem]:
    line = major(compiled.needs[0].name.rpartition("@")[2])
    own = resolve(compiled.document, pinned({each.name: each.text for each in compiled.needs})).examined.errors
    known = {(each.code, each.path) for each in own}
    for parent in _announced(dependencies, compiled.parent, line):
        above = only((compiled.parent, line), document_of(dependencies, parent))
        errors = resolve(compiled.document, above).examined.errors
        start = f"From {parent.inherited_from[:10]} on, when `{parent.contract}@{parent.version}` is inherited: "
        yield from (
            replace(each, message=start + each.message) for each in errors if (each.code, each.path) not in known
        )


def _announced(dependencies: Dependencies, contract: str, line: int) -> Iterator[Publication]:
    """The releases of a major number that are inherited from a day to come, and are the highest on that day."""
    above, now = dependencies.registry.contract(contract), moment(dependencies.clock.now())
    for day in sorted({each.inherited_from for each in above.versions if each.inherited_from > now}):
        found = parent_in_force(above, line, day)
        if found is not None and found.inherited_from == day:
            yield found


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

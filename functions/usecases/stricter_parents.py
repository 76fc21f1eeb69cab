"""A new version of a parent that published contracts are weaker than: inherited at once, or later, with notice to their owners.

`lakegate publish --from DAY` stores the version at once. Until the day, contracts are published with the version before.
Children never block a parent: the version is written first, whatever they are and however many. Then each line of a contract
that is weaker gets the notice in its item; the same transaction has the record and the message of the outbox
(`lakegate.functions.usecases.lifecycle`). Who publishes a contract before the day is warned at each place that is weaker.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from lakegate.contracts.inherit.resolve import pinned, resolve
from lakegate.contracts.lake.lifecycle import LONGEST_TEXT, ParentNotice, moment
from lakegate.contracts.lake.owners import are_named
from lakegate.contracts.lake.routes import parts_of
from lakegate.contracts.lake.transitions import parent_announced
from lakegate.contracts.lake.versions import is_release, major, precedence
from lakegate.contracts.words import printable
from lakegate.functions.ports.errors import AccessDenied
from lakegate.functions.usecases.lifecycle import PARENT, change
from lakegate.functions.usecases.parents import (
    broken_children,
    document_of,
    newest_release,
    only,
    parent_in_force,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.errors import Problem
    from lakegate.contracts.lake.lifecycle import Line
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parents import BrokenChild
    from lakegate.functions.usecases.publish_contract import CompiledContract
    from lakegate.functions.usecases.steps import Steps

NEEDED: Final = 10.0
"""Seconds that looking at one more contract may take."""


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
        if not parent.is_open_to(compiled.contract, compiled.own):
            continue
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


def children_to_notify(
    dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract
) -> tuple[BrokenChild, ...]:
    """The publisher's own contracts that are weaker than the version; none if it is published already.

    Others are not shown: they are of owners of their own.
    """
    if any(each.version == compiled.version for each in seen.versions):
        return ()
    own = (each for each in seen.children if are_named(compiled.own, each))
    at = compiled.inherited_from or moment(dependencies.clock.now())
    return tuple(broken_children(dependencies, seen, compiled, at, own))


def announce(dependencies: Dependencies, compiled: CompiledContract, published: Publication) -> Steps[None]:
    """Give notice of a published version to the lines of all contracts that are weaker, once: the publisher's own first.

    As many as there is time for: publishing the version again goes on. Raises AccessDenied for a caller who may not write
    lines, if the version is inherited from a day on; one that is inherited at once is published without notice.
    """
    seen = dependencies.registry.contract(compiled.contract)
    ordered = sorted(seen.children, key=lambda each: not are_named(compiled.own, each))
    children = takewhile(lambda _: dependencies.remaining() > NEEDED, ordered)
    at = published.inherited_from or moment(dependencies.clock.now())
    for child in broken_children(dependencies, seen, compiled, at, children):
        notice = ParentNotice(f"{published.contract}@{published.version}", at, printable(child.owner)[:LONGEST_TEXT])
        for line in child.lines:
            try:
                yield from change(dependencies, line, PARENT, partial(parent_announced, notice=notice))
            except AccessDenied:
                if published.inherited_from:
                    raise
                return


def still_weaker(dependencies: Dependencies, line: Line) -> tuple[ParentNotice, ...]:
    """The notices of a line that hold: what its contract inherited from before is older than the version of the notice."""
    contract, _, number = parts_of(line.name)
    newest = newest_release(dependencies.registry.contract(contract), number)
    parent, _, version = newest.needs[0][0].rpartition("@") if newest and newest.needs else ("", "", "")
    named = ((each, *each.version.rpartition("@")) for each in line.parents)
    return tuple(notice for notice, of, _, new in named if of == parent and precedence(version) < precedence(new))

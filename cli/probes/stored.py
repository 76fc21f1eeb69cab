"""What the stack stores and cannot read: items of the tables, and the readers' manifests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.cli.probes.causes import CAUSES
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.records import contract_chain
from lakegate.functions.ports.errors import NotFound, UnreadableItem
from lakegate.functions.usecases.deliveries import recent
from lakegate.functions.usecases.layout import manifest_key
from lakegate.functions.usecases.lines import chains
from lakegate.functions.usecases.readers import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack
    from lakegate.functions.usecases.dependencies import Dependencies

ROWS: Final = 50
"""Of each kind."""
LINES: Final = 100
"""Lines whose own items are read; those of others are seen where they are due."""
AT_ONCE: Final = 8


def items(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Items by which the functions act, and the manifests of lines, can be read; what cannot be read is collected."""
    there, now = examined.dependencies, examined.ask.now()
    there.registry.proposals()
    there.outbox.pending(ROWS)
    after = there.registry.page("").after
    while after:
        after = there.registry.page(after).after
    batches = {each.row.batch for each in recent(there, ROWS) if each.row is not None} - {""}
    lines = chains(there)[:LINES]
    contracts = sorted({each.contract for each in there.registry.snapshot().versions})[:LINES]
    reads: list[Callable[[], object]] = [
        *(partial(there.batches.get, each) for each in batches),
        *(partial(there.notices.get, each) for each in there.notices.due(now, ROWS)),
        *(partial(there.lines.get, each) for each in (*there.lines.due(now, ROWS), *lines)),
        *(partial(there.pauses.pause_of, each) for each in (*there.pauses.listed(), *lines)),
        *(partial(there.promises.get, each) for each in (*there.promises.due(now, ROWS), *lines)),
        *(partial(there.pulls.get, each) for each in (*there.pulls.due(now, ROWS), *lines)),
        *(partial(there.revalidations.get, each) for each in (*there.revalidations.due(now, ROWS), *lines)),
        *(partial(there.workloads.next_slice, each) for each in lines),
        *(partial(there.ledger.key, each) for each in lines),
        *(partial(there.ledger.head, contract_chain(each)) for each in contracts),
    ]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        tuple(readers.map(partial(_read, there), reads))
        untrue = tuple(readers.map(partial(_is_unreadable, there), lines))
    for line in (each for each, is_untrue in zip(lines, untrue, strict=True) if is_untrue):
        yield CAUSES["manifest-untrue"].found(name=manifest_key(line), bucket=there.places.lake)
    for chain in _headless(there, (*lines, *map(contract_chain, contracts))):
        yield CAUSES["head-lost"].found(chain=chain, table=examined.stack.output("LedgerTable"))


def watch(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Accepted objects are compared with their contracts by schedule; a local stack is for trials."""
    is_watched = examined.embedded or examined.there("DriftFunction")
    if not is_watched and examined.dependencies.registry.snapshot().versions:
        yield CAUSES["accepted-unwatched"].found()


def _read(dependencies: Dependencies, read: Callable[[], object]) -> None:
    try:
        read()
    except NotFound:
        return
    except UnreadableItem as refused:
        dependencies.left_out.append(refused)


def _headless(dependencies: Dependencies, chains: Sequence[str]) -> Iterator[str]:
    """Those of the chains that have a block above the head, also after a second look: no block was committed meanwhile."""
    heads = dict(zip(chains, dependencies.ledger.heads(chains), strict=True))
    above = dependencies.ledger.digests([(chain, head.height + 1) for chain, head in heads.items()])
    for chain in (each for each, digest in zip(heads, above, strict=True) if digest):
        with suppress(UnreadableItem):  # which is reported as such
            if dependencies.ledger.head(chain) == heads[chain]:
                yield chain


def _is_unreadable(dependencies: Dependencies, line: str) -> bool:
    """Whether the line has a manifest that no reader can use."""
    try:
        read_manifest(dependencies, manifest_key(line), line)
    except NotFound:
        return False
    except InputError:
        return True
    return False

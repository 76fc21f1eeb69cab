"""`lakegate dataset rebuild-state`: what a line that merges rows knows of its keys, computed again from its slices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.download import File, ListedDelivery, fetched
from lakegate.cli.get import head_of
from lakegate.cli.transfer import To, read, send
from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.words import counted
from lakegate.engine.read.local import LocalStore, path_of
from lakegate.engine.slices.current import CurrentRows
from lakegate.engine.slices.rebuilding import StateOfSlices
from lakegate.engine.slices.state import StoredRun, state_digest
from lakegate.functions.adapters.clients import client
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.layout import rebuilt_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.cli.aws import DeployedStack
    from lakegate.contracts.door.terms import Terms
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.contracts.plan.slices import StateRun
    from lakegate.engine.slices.state import Parts
    from lakegate.functions.ports.workloads import NextSlice
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class RebuiltState:
    """What was found."""

    line: str
    keys: int
    digest: str
    """Of keys and contents, by the slices."""
    stored: str
    """By the state; empty where one of its files is not there, or not as listed."""
    replaced: bool


def rebuild(line: str, stack: str, *, local: bool, as_json: bool) -> None:
    """Compute the state of a line from its slices, and replace it where it is another one."""
    with opened(stack, local=local) as there, TemporaryDirectory(prefix="lakegate-state-") as name:
        found = _rebuilt(there, line, Path(name))
    if as_json:
        names = ("line", "keys", "digest", "stored", "replaced")
        terminal.print_json({each: getattr(found, each) for each in names})
        return
    is_same = "the state was another one, and is replaced" if found.replaced else "the state is the same"
    typer.echo(f"{found.line}: {counted(found.keys, 'key')} in its slices: {is_same}.")
    typer.echo(f"Digest: {found.digest}")


def _rebuilt(there: DeployedStack, named: str, folder: Path) -> RebuiltState:
    dependencies = there.dependencies()
    line = head_of(dependencies, named)["line"]
    before = dependencies.workloads.next_slice(line)
    if before.writer:
        raise InputError(f"a delivery of {line} is decided and not committed yet: repeat the command in a minute")
    blocks = dependencies.ledger.blocks(line)
    merged = [(each, terms) for each in deliveries(blocks) if (terms := _terms(dependencies, each))]
    if not merged:
        raise InputError(
            f"{line} has no merge state: no delivery of it was merged. With a `mergeStrategy` in its contract, the first one "
            "that publishes slices has one"
        )
    found = _whole(dependencies, merged, erasures_of(blocks), before, folder)
    digest, stored = _digest(LocalStore(), [found]), _stored(dependencies, before)
    if digest == stored:
        return RebuiltState(line, found.rows, digest, stored, replaced=False)
    run = replace(found, uri=rebuilt_key(line, digest))
    to = To(dependencies.places.lake, run.uri, there.account)
    send(client("s3"), read(path_of(found.uri)), to, lambda _: None)
    try:
        dependencies.workloads.replace_state(line, before, (run,) if run.rows or run.as_of else ())
    except ConditionFailed:
        raise InputError(f"a delivery of {line} was decided meanwhile: repeat the command") from None
    return RebuiltState(line, found.rows, digest, stored, replaced=True)


def _whole(
    dependencies: Dependencies, merged: list[tuple[Block, Terms]], erasures: Erasures, before: NextSlice, folder: Path
) -> StateRun:
    """The state by the slices, in one file; a restored slice has another version than in its block (`erasures`)."""
    rows, snapshots = StateOfSlices(folder), CurrentRows()
    for block, terms in merged:
        with TemporaryDirectory(dir=folder) as name:
            slices = _slices(dependencies, block, erasures, Path(name))
            if terms.snapshots:
                snapshots.add(slices, terms.merge_key, terms.event_time)
            else:
                rows.add(slices, terms.merge_key)
    if not merged[-1][1].snapshots:
        return rows.whole()
    # no slice has the time of a snapshot that changed nothing
    changed = max((each.event_time[1] for block, _ in merged for each in block.slices or ()), default="")
    return snapshots.whole(folder, max([each.as_of for each in before.runs], default=changed))


def _terms(dependencies: Dependencies, block: Block) -> Terms | None:
    """By which the rows of a delivery were merged; None where they were appended, or published as they arrived."""
    terms = terms_of(dependencies.plan_at(block.plan, block.workload)) if block.slices is not None else None
    return terms if terms and terms.merge_key else None


def _slices(dependencies: Dependencies, block: Block, erasures: Erasures, folder: Path) -> list[Path]:
    """The slices of a delivery on this machine, each as its block states, or as it was restored."""
    keys = {each.key for each in block.slices or ()}
    files = tuple(
        File(each.key, each.version, each.size, each.checksum, f"{number}.parquet")
        for number, each in enumerate(erasures.objects_of(block))
        if each.key in keys
    )
    fetched(dependencies, folder, ListedDelivery({}, files), lambda _: None)
    return [folder / each.place for each in files]


@dataclass(frozen=True, slots=True)
class _OfTheLake:
    """Parts of objects of the lake, by their keys."""

    dependencies: Dependencies

    def part(self, address: str, start: int, length: int) -> bytes:
        """See `lakegate.engine.slices.state.Parts`."""
        return self.dependencies.objects.read(Address(self.dependencies.places.lake, address), start, length)


def _stored(dependencies: Dependencies, before: NextSlice) -> str:
    """The digest of the state as it is stored."""
    with suppress(NotFound, InputError):
        return _digest(_OfTheLake(dependencies), before.runs)
    return ""


def _digest(store: Parts, runs: Iterable[StateRun]) -> str:
    return state_digest([StoredRun(store, each).blocks() for each in runs])

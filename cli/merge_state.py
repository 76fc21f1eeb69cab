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
from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import deliveries
from lakegate.contracts.plan.slices import StateRun
from lakegate.engine.read.local import LocalStore
from lakegate.engine.slices.replay import RowsBefore
from lakegate.engine.slices.state import StoredRun, state_digest, write_run
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.layout import rebuilt_key

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import Block
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
        dependencies = there.dependencies()
        found = _rebuilt(dependencies, head_of(dependencies, line)["line"], Path(name))
    if as_json:
        names = ("line", "keys", "digest", "stored", "replaced")
        terminal.print_json({each: getattr(found, each) for each in names})
        return
    is_same = "the state was another one, and is replaced" if found.replaced else "the state is the same"
    typer.echo(f"{found.line}: {found.keys:,} {'key' if found.keys == 1 else 'keys'} in its slices: {is_same}.")
    typer.echo(f"Digest: {found.digest}")


def _rebuilt(dependencies: Dependencies, line: str, folder: Path) -> RebuiltState:
    before = dependencies.workloads.next_slice(line)
    if before.writer:
        raise InputError(f"a delivery of {line} is decided and not committed yet: repeat the command in a minute")
    keyed = [(each, key) for each in deliveries(dependencies.ledger.blocks(line)) if (key := _key(dependencies, each))]
    if not keyed:
        raise InputError(f"{line} has no merge state: its contract has no `mergeStrategy: ledger`")
    rows = RowsBefore()
    for block, key in keyed:
        with TemporaryDirectory(dir=folder) as name:
            rows.add(_slices(dependencies, block, Path(name)), key)
    records = rows.records()
    digest, stored = state_digest([iter([records.records])]), _stored(dependencies, before, folder)
    if digest == stored:
        return RebuiltState(line, len(records.records), digest, stored, replaced=False)
    path, place = folder / "state.bin", Address(dependencies.places.lake, rebuilt_key(line, digest))
    count, own = write_run(records, [], path)
    dependencies.objects.put(place, path.read_bytes())
    try:
        dependencies.workloads.replace_state(line, before, (StateRun(place.key, count, own),))
    except ConditionFailed:
        raise InputError(f"a delivery of {line} was decided meanwhile: repeat the command") from None
    return RebuiltState(line, count, digest, stored, replaced=True)


def _key(dependencies: Dependencies, block: Block) -> tuple[str, ...]:
    """By which the rows of a delivery were merged; none where they were appended, or it has no slices."""
    return terms_of(dependencies.plan_at(block.plan, block.workload)).merge_key if block.slices else ()


def _slices(dependencies: Dependencies, block: Block, folder: Path) -> list[Path]:
    """The slices of a delivery on this machine, each as its block states."""
    keys = {each.key for each in block.slices or ()}
    files = tuple(
        File(each.key, each.version, each.size, each.checksum, f"{number}.parquet")
        for number, each in enumerate(block.objects)
        if each.key in keys
    )
    fetched(dependencies, folder, ListedDelivery({}, files), lambda _: None)
    return [folder / each.place for each in files]


def _stored(dependencies: Dependencies, before: NextSlice, folder: Path) -> str:
    """The digest of the state as it is stored."""
    runs = []
    with suppress(NotFound, InputError):
        for number, each in enumerate(before.runs):
            path = folder / f"run-{number}"
            path.write_bytes(dependencies.objects.read(Address(dependencies.places.lake, each.uri)))
            runs.append(StoredRun(LocalStore(), replace(each, uri=path.as_uri())))
        return state_digest([each.blocks() for each in runs])
    return ""

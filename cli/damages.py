"""Objects that are not as the ledger records them (`lakegate verify --objects`): found, and in words with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from lakegate.cli import terminal
from lakegate.contracts.words import counted
from lakegate.functions.usecases.audit import Damage, damages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.usecases.audit import DamagedObject
    from lakegate.functions.usecases.dependencies import Dependencies

MAX_SHOWN = 20
REMEDIES = {
    "replaced": "Another version lies on top: find out who wrote it, delete it, and the judged one is current again:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "hidden": "A delete marker lies on top: find its version id, delete that, and the object is back:\n"
    "  aws s3api list-object-versions --bucket {bucket} --prefix {key} --query DeleteMarkers",
    "lost": "The judged version was deleted; {readers}. Take its bytes from a replica or a backup, or ask the\n"
    "  producer for the file. If size and checksum are those of the block, this puts it back and records it:\n"
    "  lakegate restore {key} FILE",
    "altered": "Size or checksum of the judged version are not as recorded: the store does not keep what it was given.\n"
    "  Treat it as lost, and ask who runs the store.",
    "extra": "Readers of the folder read it, though it was never judged: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "unerased": "An erasure of its rows is recorded and not finished. `lakegate log` lists it: repeat that\n"
    "  `lakegate erase`.",
    "overdue": "Its contract keeps it for fewer days, so its bucket lacks a lifecycle rule, or the object its tag. A\n"
    "  bucket of your own needs the rules that docs/deploy.md lists.",
    "untrue": "It is derived from the ledger: once the head is gone, the next sweep writes it again:\n"
    "  aws s3api delete-object --bucket {bucket} --key {head}",
    "restored": "An erasure left nothing of it: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
}
"""What to do, by the damage."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What `--objects`, `--data`, `--integrity` or `--replay` found."""

    count: int
    expired: int
    """As their contract says."""
    damaged: tuple[DamagedObject, ...]


def compared_objects(dependencies: Dependencies, chain: str, height: int) -> Compared:
    """Compare every object that a chain names with the store."""
    count = 0
    with terminal.working("comparing objects") as progress:

        def compared(so_far: int) -> None:
            nonlocal count
            count = so_far
            progress(f"comparing objects: {so_far:,}")

        damaged: list[DamagedObject] = []
        expired = 0
        for each in damages(dependencies, chain, height, compared):
            if each.damage is Damage.EXPIRED:
                expired += 1
            else:
                damaged.append(each)
    return Compared(count, expired, tuple(damaged))


def damages_in_words(lake: str, compared: Compared) -> Iterator[str]:
    """For people."""
    begin = f"{counted(compared.count, 'object')} compared with the store: "
    number = len(compared.damaged)
    if not number:
        yield f"{begin}version, size and checksum of each are as recorded; no object is extra."
    if compared.expired:
        yield f"Of these, {compared.expired:,} expired in quarantine, as their contract says."
    if not number:
        return
    yield f"{begin}{counted(number, 'is', 'are')} not as recorded."
    for each in compared.damaged[:MAX_SHOWN]:
        yield from _described(lake, each)
    yield from terminal.more(number, MAX_SHOWN)


def compared_in_words(compared: Compared, noun: str, done: str, kept: str) -> Iterator[str]:
    """For people, without remedies: what was done with things of a kind, and what holds where none is damaged."""
    begin = f"{counted(compared.count, noun)} {done}: "
    number = len(compared.damaged)
    if not number:
        yield f"{begin}{kept}."
        return
    yield f"{begin}{counted(number, 'is', 'are')} not as recorded."
    for each in compared.damaged[:MAX_SHOWN]:
        yield f"{each.damage}: {each.file}" + ("" if each.height is None else f", block {each.height}")
    yield from terminal.more(number, MAX_SHOWN)


def _described(lake: str, each: DamagedObject) -> Iterator[str]:
    named = [each.file] if each.file else []
    named += [f"block {each.height}"] if each.height is not None else []
    named += [f"workload {each.workload}"] if each.workload else []
    yield f"{each.damage}: {', '.join(named) or 'no delivery of this line'}"
    yield f"  s3://{lake}/{each.key}, version {each.version or each.current}"
    readers = f"readers get version {each.current}" if each.current else "readers get nothing"
    head = quote(each.key.partition("/_manifest")[0] + "/_manifest.json")
    words = {"head": head, "bucket": lake, "key": quote(each.key), "current": quote(each.current), "readers": readers}
    yield from (f"  {line.strip()}" for line in REMEDIES[each.damage].format_map(words).split("\n"))

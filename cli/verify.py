"""`lakegate verify`: the proof that a dataset line's chain, and on request its data, is what was recorded."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.anchors import keep_anchor, kept_anchors
from lakegate.cli.aws import opened
from lakegate.cli.chain_file import verified
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Line, Local, StackName
from lakegate.cli.signing import as_document, in_words, signatures_by
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.ledger import ChainFault, Wrong, verify_signed
from lakegate.contracts.words import shown
from lakegate.functions.usecases.audit import Damage, damages
from lakegate.functions.usecases.lines import line_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.lake.signatures import Signatures
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.usecases.audit import DamagedObject
    from lakegate.functions.usecases.dependencies import Dependencies

AS_RECORDED, BROKEN = 0, 1
MAX_SHOWN = 20
FILE_ONLY = "Only an anchor (--anchor) proves that no block was cut off above, or all of them rewritten."
ANCHOR = re.compile(r"([0-9]{1,15})=([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
REMEDIES = {
    "replaced": "Another version lies on top: find out who wrote it, delete it, and the judged one is current again:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "hidden": "A delete marker lies on top: find its version id, delete that, and the object is back:\n"
    "  aws s3api list-object-versions --bucket {bucket} --prefix {key} --query DeleteMarkers",
    "lost": "The judged version was deleted; {readers}. Restore its bytes from a replica or a backup, or\n"
    "  ask the producer for the file: size and checksum of the block prove that it is the same.",
    "altered": "Size or checksum of the judged version are not as recorded: the store does not keep what it was given.\n"
    "  Treat it as lost, and ask who runs the store.",
    "extra": "Readers of the folder read it, though it was never judged: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
    "unerased": "An erasure of its rows is recorded and not finished. `lakegate log` lists it: repeat that\n"
    "  `lakegate erase`.",
    "overdue": "Its contract keeps it for fewer days, so its bucket lacks a lifecycle rule, or the object its tag. A\n"
    "  bucket of your own needs the rules that docs/deploy.md lists.",
    "restored": "An erasure left nothing of it: find out who wrote it, then delete it:\n"
    "  aws s3api delete-object --bucket {bucket} --key {key} --version-id {current}",
}
"""What to do, by the damage."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What `--objects` found."""

    count: int
    expired: int
    """As their contract says."""
    damaged: tuple[DamagedObject, ...]


def verify(  # noqa: PLR0913 - a command has these options
    dataset: Line,
    anchor: Annotated[
        list[str] | None, typer.Option(help="HEIGHT=DIGEST, published elsewhere; may be given several times.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The public key in PEM that must have signed, known from elsewhere.", show_default=False),
    ] = None,
    *,
    objects: Annotated[
        bool, typer.Option("--objects", help="Compare version, size and checksum of every object with the store.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep-anchor", help="Keep the verified head in the stack's bucket of locked anchors.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("--yaml", help="Verify the chain in a file of `log --yaml`, without a stack.", show_default=False),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain of a dataset line from its first block; with --objects also compare its data with the chain.

    Anchors that the stack keeps (parameter AnchorDays) are verified without being named, and so are signatures.

    Example: lakegate verify weather_record_v1 --objects

    Exit code: 0 everything that was checked is as recorded, 1 the chain is broken or an object differs, 2 not checked.
    """
    given, signatures = _anchors(anchor or ()), signatures_by(key)
    if file is not None:
        if objects or keep:
            raise InputError("--yaml verifies the chain in a file: leave out --objects and --keep-anchor")
        head, faults = verified(file, dataset, signatures, given)
        if as_json:
            terminal.print_json(_as_document(dataset, head, faults, as_document(signatures, given), None))
        else:
            _print_chain(dataset, head, faults, in_words(signatures, head.height, given))
            terminal.answers().print(f"Head of the file: {head.height}={head.digest}\n{FILE_ONLY}", soft_wrap=True)
        raise typer.Exit(BROKEN if faults else AS_RECORDED)
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chain = line_named(dependencies, dataset)
        head = dependencies.ledger.head(chain)
        given = _anchors([*_texts(given), *kept_anchors(there, chain)])
        faults = _faults(dependencies, chain, head, signatures, given)
        compared = _compared(dependencies, chain, head.height) if objects else None
        if keep and not faults:
            keep_anchor(there, chain, head)
    if as_json:
        terminal.print_json(_as_document(chain, head, faults, as_document(signatures, given), compared))
    else:
        _print_chain(chain, head, faults, in_words(signatures, head.height, given))
        _print(dependencies.places.lake, head, faults, compared)
    raise typer.Exit(BROKEN if faults or (compared and compared.damaged) else AS_RECORDED)


def _texts(anchors: Mapping[int, str]) -> list[str]:
    return [f"{height}={digest}" for height, digest in anchors.items()]


def _anchors(texts: list[str] | tuple[()]) -> Mapping[int, str]:
    anchors: dict[int, str] = {}
    for text in texts:
        found = ANCHOR.fullmatch(text)
        if found is None:
            raise InputError(
                "an anchor is HEIGHT=DIGEST, the digest in 64 hexadecimal digits, as `verify` prints it; "
                f"not {shown(text)}"
            )
        height, digest = int(found[1]), found[2].lower()
        if anchors.setdefault(height, digest) != digest:
            raise InputError(f"two anchors of height {height} differ")
    return anchors


def _faults(
    dependencies: Dependencies, chain: str, head: Head, signatures: Signatures, anchors: Mapping[int, str]
) -> tuple[ChainFault, ...]:
    stored = dependencies.ledger.signed(chain)
    faults = verify_signed(islice(stored, head.height + 1), chain, signatures, head.digest, anchors)
    is_beyond = next(stored, None) is not None
    if is_beyond and dependencies.ledger.head(chain) == head:  # else the block was committed since the head was read
        return (*faults, ChainFault(head.height + 1, Wrong.HEAD))
    return faults


def _compared(dependencies: Dependencies, chain: str, height: int) -> Compared:
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


def _as_document(
    chain: str,
    head: Head,
    faults: tuple[ChainFault, ...],
    signatures: dict[str, object],
    compared: Compared | None,
) -> dict[str, object]:
    damaged = [asdict(each) for each in compared.damaged] if compared else []
    return {
        "chain": chain,
        "height": head.height,
        "head": head.digest,
        "intact": not faults and not damaged,
        "faults": [{"height": each.height, "what": each.what.value, "why": each.why or None} for each in faults],
        "signatures": signatures,
        "objects": {"compared": compared.count, "expired": compared.expired, "damaged": damaged} if compared else None,
    }


def _print_chain(chain: str, head: Head, faults: tuple[ChainFault, ...], signatures: Iterator[str]) -> None:
    console = terminal.answers()
    if faults:
        broken = f"{chain}: broken. Nothing from block {faults[0].height} on can be trusted."
        console.print(escaped(broken), style="bold red", markup=False, soft_wrap=True)
        for each in faults:
            named = f"  block {each.height}: {each.what.value}" + (f": {each.why}" if each.why else "")
            console.print(escaped(named), markup=False, soft_wrap=True)
    else:
        console.print(escaped(f"{chain}: {head.height + 1} blocks, intact."), markup=False, soft_wrap=True)
    for line in signatures:
        console.print(escaped(line), markup=False, soft_wrap=True)


def _print(lake: str, head: Head, faults: tuple[ChainFault, ...], compared: Compared | None) -> None:
    console = terminal.answers()
    if compared is None:
        console.print("Chain only; data not checked: --objects compares every object with the ledger.", soft_wrap=True)
    else:
        for line in _in_words(lake, compared):
            console.print(escaped(line), markup=False, soft_wrap=True)
    if not faults and head.height >= 0 and not (compared and compared.damaged):
        console.print(f"Anchor of today, to be kept elsewhere: {head.height}={head.digest}", soft_wrap=True)


def _in_words(lake: str, compared: Compared) -> Iterator[str]:
    begin = f"{compared.count:,} {'object' if compared.count == 1 else 'objects'} compared with the store: "
    number = len(compared.damaged)
    if not number:
        yield f"{begin}version, size and checksum of each are as recorded; no object is extra."
    if compared.expired:
        yield f"Of these, {compared.expired:,} expired in quarantine, as their contract says."
    if not number:
        return
    yield f"{begin}{number:,} {'is' if number == 1 else 'are'} not as recorded."
    for each in compared.damaged[:MAX_SHOWN]:
        yield from _described(lake, each)
    if number > MAX_SHOWN:
        yield f"… and {number - MAX_SHOWN:,} more: --json lists them all."


def _described(lake: str, each: DamagedObject) -> Iterator[str]:
    named = [each.file] if each.file else []
    named += [f"block {each.height}"] if each.height is not None else []
    named += [f"workload {each.workload}"] if each.workload else []
    yield f"{each.damage}: {', '.join(named) or 'no delivery of this line'}"
    yield f"  s3://{lake}/{each.key}, version {each.version or each.current}"
    readers = f"readers get version {each.current}" if each.current else "readers get nothing"
    words = {"bucket": lake, "key": quote(each.key), "current": quote(each.current), "readers": readers}
    yield from (f"  {line.strip()}" for line in REMEDIES[each.damage].format_map(words).split("\n"))

"""`lakegate verify`: the proof that a dataset line's chain, and on request its data, is what was recorded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.anchored import AnchorOptions, verify_anchors
from lakegate.cli.anchors import anchors_in, keep_anchor, kept_anchors
from lakegate.cli.aws import opened
from lakegate.cli.chain_file import Passed, stored_faults, verified
from lakegate.cli.damages import compared_objects, damages_in_words
from lakegate.cli.data_folder import compared_files, files_in_words
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, OptionalLine, StackName
from lakegate.cli.signing import KMS, as_document, in_words, signatures_by, signatures_of
from lakegate.cli.slice_integrity import read_slices, slices_in_words
from lakegate.cli.slice_replay import replay_in_words, replayed_slices
from lakegate.contracts.errors import InputError
from lakegate.functions.ports.ledger import Head
from lakegate.functions.usecases.lines import line_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.cli.damages import Compared
    from lakegate.contracts.lake.block import AnyBlock
    from lakegate.contracts.lake.ledger import ChainFault
    from lakegate.contracts.lake.signatures import Signatures
    from lakegate.functions.usecases.dependencies import Dependencies

AS_RECORDED, BROKEN = 0, 1
FILE_ONLY = "Only an anchor (--anchor) proves that no block was cut off above, or all of them rewritten."


def verify(  # noqa: PLR0913 - a command has these options
    dataset: OptionalLine = None,
    anchor: Annotated[
        list[str] | None, typer.Option(help="HEIGHT=DIGEST, published elsewhere; may be given several times.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="The public key that must have signed: a file in PEM, known from elsewhere; `kms`: the stack's, from KMS.",
            show_default=False,
        ),
    ] = None,
    anchors: Annotated[
        str | None,
        typer.Option(
            help="Compare the line, or every chain, with daily anchors: `stack`, s3://BUCKET or a folder.",
            show_default=False,
        ),
    ] = None,
    *,
    objects: Annotated[
        bool, typer.Option("--objects", help="Compare version, size and checksum of every object with the store.")
    ] = False,
    integrity: Annotated[
        bool,
        typer.Option("--integrity", help="Read every slice, and compare offsets, times and hashes with the chain."),
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Build every slice again from what arrived, and compare its rows.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep-anchor", help="Keep the verified head in the stack's bucket of locked anchors.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("--yaml", help="Verify the chain in a file of `log --yaml`, without a stack.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Compare the files of a folder that `lakegate get` filled with the chain.", show_default=False
        ),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain of a dataset line from its first block; with --objects also compare its data with the chain.

    With --integrity, slices of Open Data Fabric are read and compared with the chain; with --replay also with what arrived: the
    accepted originals, which lie beside them.

    Anchors that the stack keeps (parameter AnchorDays) are verified without being named, and so are signatures.

    With --anchors also the daily anchors themselves are verified, and without a line every chain that they name.

    Example: lakegate verify weather_record_v1 --objects

    Exit code: 0 everything that was checked is as recorded, 1 the chain is broken or an object differs, 2 not checked.
    """
    if anchors is not None:
        if objects or keep or anchor or data or integrity or replay:
            raise InputError(
                "--anchors verifies daily anchors: leave out --anchor, --keep-anchor and what compares data"
            )
        raise typer.Exit(verify_anchors(anchors, dataset, AnchorOptions(key, file, stack, local, as_json)))
    if dataset is None:
        raise InputError("name a line; without one, --anchors verifies every chain that is anchored")
    if sum(map(bool, (objects, data, integrity, replay))) > 1:
        raise InputError(
            "--objects compares the store with the chain, --data a folder, --integrity the slices, and --replay also with what "
            "arrived: give one of them"
        )
    is_from_kms, passed = key == KMS, Passed(blocks=[] if data or integrity or replay else None)
    given, signatures = anchors_in(anchor or ()), signatures_by(None if key is None or is_from_kms else Path(key))
    if file is not None:
        if is_from_kms or objects or keep or integrity or replay:
            raise InputError(
                "--yaml asks no stack: leave out --key kms, --keep-anchor, --objects, --integrity and --replay"
            )
        faults = verified(file, dataset, signatures, given, passed)
        raise typer.Exit(_print_file(dataset, faults, signatures, given, passed, data=data, as_json=as_json))
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        signatures = signatures_of(there) if is_from_kms else signatures
        chain = line_named(dependencies, dataset)
        head = dependencies.ledger.head(chain)
        given = anchors_in([*_texts(given), *kept_anchors(there, chain)])
        faults = stored_faults(dependencies, chain, head, signatures, given, passed=passed)
        wanted = "objects" if objects else "slices" if integrity else "replay" if replay else ""
        compared, words = _compared(dependencies, chain, head, passed.blocks or (), wanted, data)
        if keep and not faults:
            keep_anchor(there, chain, head)
    if as_json:
        terminal.print_json(
            _as_document(chain, head, faults, as_document(signatures, given, fetched=is_from_kms), compared)
        )
    else:
        _print_chain(chain, head, faults, in_words(signatures, head.height, given, fetched=is_from_kms))
        _print(words, head, faults, compared)
    raise typer.Exit(BROKEN if faults or (compared and compared.damaged) else AS_RECORDED)


def _compared(  # noqa: PLR0913, PLR0917 - the data of a chain, and what it is compared with
    dependencies: Dependencies, chain: str, head: Head, blocks: Sequence[AnyBlock], wanted: str, data: Path | None
) -> tuple[Compared | None, Iterator[str]]:
    """The data of a chain, compared with it, and the result in words."""
    if wanted == "objects":
        found = compared_objects(dependencies, chain, head.height)
        return found, damages_in_words(dependencies.places.lake, found)
    if wanted == "slices":
        found = read_slices(dependencies, blocks)
        kept = "offsets, event times and both hashes of each are those of its block"
        return found, slices_in_words(found, "read", kept)
    if wanted == "replay":
        found = replayed_slices(dependencies, chain, blocks)
        return found, replay_in_words(found)
    if data is not None:
        found = compared_files(data, chain, blocks)
        return found, files_in_words(found)
    return None, iter(())


def _print_file(  # noqa: PLR0913 - what a file and a folder were verified by
    line: str,
    faults: tuple[ChainFault, ...],
    signatures: Signatures,
    given: Mapping[int, str],
    passed: Passed,
    *,
    data: Path | None,
    as_json: bool,
) -> int:
    head = Head(passed.height, passed.digest)
    compared = compared_files(data, line, passed.blocks or ()) if data else None
    if as_json:
        terminal.print_json(_as_document(line, head, faults, as_document(signatures, given), compared))
    else:
        _print_chain(line, head, faults, in_words(signatures, head.height, given))
        for text in files_in_words(compared):
            terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
        terminal.answers().print(f"Head of the file: {head.height}={head.digest}\n{FILE_ONLY}", soft_wrap=True)
    return BROKEN if faults or (compared and compared.damaged) else AS_RECORDED


def _texts(anchors: Mapping[int, str]) -> list[str]:
    return [f"{height}={digest}" for height, digest in anchors.items()]


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


def _print(words: Iterator[str], head: Head, faults: tuple[ChainFault, ...], compared: Compared | None) -> None:
    console = terminal.answers()
    if compared is None:
        console.print("Chain only; data not checked: --objects compares every object with the ledger.", soft_wrap=True)
    else:
        for line in words:
            console.print(escaped(line), markup=False, soft_wrap=True)
    if not faults and head.height >= 0 and not (compared and compared.damaged):
        console.print(f"Anchor of today, to be kept elsewhere: {head.height}={head.digest}", soft_wrap=True)

"""`lakegate verify`: the proof that a dataset line's chain, and on request its data, is what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from lakegate.cli import terminal
from lakegate.cli.anchored import AnchorOptions, verify_anchors
from lakegate.cli.anchors import anchors_in, keep_anchor, kept_anchors
from lakegate.cli.aws import opened
from lakegate.cli.chain_file import Passed, stored_faults, verified
from lakegate.cli.chain_words import chain_document, print_chain, print_data
from lakegate.cli.damages import compared_objects, damages_in_words
from lakegate.cli.data_folder import compared_files, files_in_words
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, OptionalLine, StackName
from lakegate.cli.signing import KMS, as_document, in_words, signatures_by, signatures_of
from lakegate.cli.slice_integrity import integrity_in_words, read_slices
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
    given = _Given(tuple(anchor or ()), key, data, objects, integrity, replay, keep, as_json)
    if anchors is not None:
        if objects or keep or anchor or data or integrity or replay:
            raise InputError(
                "--anchors verifies daily anchors: leave out --anchor, --keep-anchor, --objects, --integrity, --replay and --data"
            )
        raise typer.Exit(verify_anchors(anchors, dataset, AnchorOptions(key, file, stack, local, as_json)))
    if dataset is None:
        raise InputError("name a line; without one, --anchors verifies every chain that is anchored")
    if sum(map(bool, (objects, data, integrity, replay))) > 1:
        raise InputError(
            "--objects compares the store with the chain, --data a folder, --integrity the slices, and --replay also with what "
            "arrived: give one of them"
        )
    raise typer.Exit(_of_stack(dataset, given, stack, local=local) if file is None else _of_file(dataset, given, file))


class _Given(NamedTuple):
    """What a chain is verified by, and compared with."""

    anchor: tuple[str, ...]
    key: str | None
    data: Path | None
    objects: bool
    integrity: bool
    replay: bool
    keep: bool
    as_json: bool

    @property
    def signatures(self) -> Signatures:
        """Those of the key in a file, if one is given. InputError."""
        return signatures_by(None if self.key in {None, KMS} else Path(str(self.key)))

    @property
    def passed(self) -> Passed:
        """With blocks only where data is compared with them."""
        return Passed(blocks=[] if self.data or self.integrity or self.replay else None)


def _of_file(line: str, given: _Given, file: Path) -> int:
    """Verify the chain in a file, and print the result; the exit code. InputError."""
    passed, anchors, signatures = given.passed, anchors_in(given.anchor), given.signatures
    if given.key == KMS or given.objects or given.keep or given.integrity or given.replay:
        raise InputError(
            "--yaml asks no stack: leave out --key kms, --keep-anchor, --objects, --integrity and --replay"
        )
    faults = verified(file, line, signatures, anchors, passed)
    return _print_file(line, faults, signatures, anchors, passed, data=given.data, as_json=given.as_json)


def _of_stack(named: str, given: _Given, stack: str, *, local: bool) -> int:
    """Verify the chain of a line, and print the result; the exit code. InputError."""
    passed, anchors, signatures = given.passed, anchors_in(given.anchor), given.signatures
    is_from_kms = given.key == KMS
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        signatures = signatures_of(there) if is_from_kms else signatures
        chain = line_named(dependencies, named)
        head = dependencies.ledger.head(chain)
        anchors = anchors_in([*_texts(anchors), *kept_anchors(there, chain)])
        faults = stored_faults(dependencies, chain, head, signatures, anchors, passed=passed)
        top = Head(passed.height, passed.digest)
        compared, words = _compared(dependencies, chain, top, passed.blocks or (), given)
        if given.keep and not faults:
            keep_anchor(there, chain, head)
    if given.as_json:
        proof = as_document(signatures, anchors, fetched=is_from_kms)
        terminal.print_json(chain_document(chain, head, faults, proof, compared))
    else:
        print_chain(chain, head, faults, in_words(signatures, top.height, anchors, fetched=is_from_kms))
        print_data(words, head, faults, compared)
    return BROKEN if faults or (compared and compared.damaged) else AS_RECORDED


def _compared(
    dependencies: Dependencies, chain: str, head: Head, blocks: Sequence[AnyBlock], given: _Given
) -> tuple[Compared | None, Iterator[str]]:
    """The data of a chain, compared with it, and the result in words."""
    if given.objects:
        found = compared_objects(dependencies, chain, head.height)
        return found, damages_in_words(dependencies.places.lake, found)
    if given.integrity:
        found = read_slices(dependencies, blocks)
        return found, integrity_in_words(found)
    if given.replay:
        found = replayed_slices(dependencies, chain, blocks)
        return found, replay_in_words(found)
    if given.data is not None:
        found = compared_files(given.data, chain, blocks)
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
        terminal.print_json(chain_document(line, head, faults, as_document(signatures, given), compared))
    else:
        print_chain(line, head, faults, in_words(signatures, head.height, given))
        for text in files_in_words(compared):
            terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
        terminal.answers().print(f"Head of the file: {head.height}={head.digest}\n{FILE_ONLY}", soft_wrap=True)
    return BROKEN if faults or (compared and compared.damaged) else AS_RECORDED


def _texts(anchors: Mapping[int, str]) -> list[str]:
    return [f"{height}={digest}" for height, digest in anchors.items()]

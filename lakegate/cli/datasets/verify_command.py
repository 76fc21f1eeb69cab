"""lakegate verify: chain and registered comparisons."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lakegate.aws.clients import client
from lakegate.aws.kms_signing import KmsKey
from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Local, OptionalLine, StackName
from lakegate.errors import InputError, SetUpError
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.ledger.blocks import Head
from lakegate.gate.ledger.compare_objects import compared_objects, damages_in_words
from lakegate.gate.ledger.ledger_yaml import Passed, stored_faults, verified
from lakegate.gate.ledger.signatures import SHORT, SPKI, Signatures, fingerprint, key_of_pem
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.transfer.download_files import compared_files, files_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.aws.open_stack import DeployedStack
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.ledger.blocks import AnyBlock
    from lakegate.gate.ledger.compare_objects import Compared
    from lakegate.gate.ledger.verification import ChainFault

# ---- What `lakegate verify` prints of a chain, and of the data that was compared with it ---------------------------


def chain_document(
    chain: str,
    head: Head,
    faults: tuple[ChainFault, ...],
    signatures: dict[str, object],
    compared: Compared | None,
) -> dict[str, object]:
    """The document of `--json`."""
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


def print_chain(chain: str, head: Head, faults: tuple[ChainFault, ...], signatures: Iterator[str]) -> None:
    """Whether the chain is intact, and by whom it is signed."""
    console = terminal.answers()
    if faults:
        broken = f"{chain}: broken. Nothing from block {faults[0].height} on can be trusted."
        console.print(escaped(broken), style="bold red", markup=False, soft_wrap=True)
        for each in faults:
            named = f"  block {each.height}: {each.what.value}" + (f": {each.why}" if each.why else "")
            console.print(escaped(named), markup=False, soft_wrap=True)
    else:
        console.print(escaped(f"{chain}: {counted(head.height + 1, 'block')}, intact."), markup=False, soft_wrap=True)
    for line in signatures:
        console.print(escaped(line), markup=False, soft_wrap=True)


def print_data(words: Iterator[str], head: Head, faults: tuple[ChainFault, ...], compared: Compared | None) -> None:
    """What was compared with the chain, and its head as an anchor."""
    console = terminal.answers()
    if compared is None:
        console.print("Chain only; data not checked: --objects compares every object with the ledger.", soft_wrap=True)
    else:
        for line in words:
            console.print(escaped(line), markup=False, soft_wrap=True)
    if not faults and head.height >= 0 and not (compared and compared.damaged):
        console.print(f"Anchor of today, to be kept elsewhere: {head.height}={head.digest}", soft_wrap=True)


# ---- Keys and signatures of a chain: what `lakegate verify` is given (--key), and what it says of them -------------


KMS = "kms"
"""In the place of a file: the key of the stack, from KMS."""


FETCHED = "It was fetched from KMS just now: a copy of your own, kept elsewhere, is stronger evidence (docs/ledger.md)."


BY_ITSELF = (
    "The chain itself names these keys: only --key FILE, or an anchor above their records, proves whose they are."
)


def signatures_by(path: Path | None) -> Signatures:
    """Of a chain that is read next, by the key in a PEM file if there is one. InputError where that cannot be read."""
    if path is None:
        return Signatures(verifies)
    try:
        return Signatures(verifies, fingerprint(key_of_pem(path.read_bytes())))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"{path} is {error}") from None


def signatures_of(there: DeployedStack) -> Signatures:
    """Of a chain that is read next, by the key of the stack, which KMS is asked for. SetUpError where the stack signs nothing."""
    arn = there.outputs.get("SigningKeyArn")
    if arn is None:
        raise SetUpError(f"the stack {there.name} signs nothing: set SigningKey (docs/deploy.md)")
    return Signatures(verifies, fingerprint(KmsKey(client("kms"), arn).public_key()))


def verifies(public_key: bytes, signature: bytes, text: bytes) -> bool:
    """Whether a signature of Ed25519 is that of a text."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - chains without signatures need no library

    try:
        _loaded(public_key).verify(signature, text)
    except InvalidSignature:
        return False
    return True


@cache
def _loaded(public_key: bytes) -> Any:  # noqa: ANN401 - the library's
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - likewise

    return Ed25519PublicKey.from_public_bytes(public_key.removeprefix(SPKI))


def as_document(signatures: Signatures, anchors: Iterable[int], *, fetched: bool = False) -> dict[str, object]:
    """For machines."""
    keys = [{"key": name, "height": key.height, "signed": key.signed} for name, key in signatures.keys.items()]
    covered = signatures.covered if signatures.covered >= 0 else None
    proof = _proof(signatures, anchors)
    return {"keys": keys, "covered": covered, "proven_by": KMS if fetched and proof == "key" else proof}


def in_words(signatures: Signatures, height: int, anchors: Iterable[int], *, fetched: bool = False) -> Iterator[str]:
    """For people: which keys signed how much of a chain up to a height, and what that proves."""
    if not signatures.keys:
        yield "Not signed: this chain names no key (docs/ledger.md)."
        return
    for name, key in signatures.keys.items():
        blocks = counted(key.signed, "block")
        yield f"{blocks} signed by the key {name}, which block {key.height} names."
    if signatures.covered < height:
        yield f"Signatures cover block {signatures.covered} and all below it; above are records, for the next delivery to cover."
    proof = _proof(signatures, anchors)
    if proof == "key":
        yield f"The given key {(signatures.given or '')[:SHORT]} is one of them."
        if fetched:
            yield FETCHED
    else:
        yield (
            BY_ITSELF
            if proof is None
            else "An anchor is above the record of the first key: nobody named another one since."
        )


def _proof(signatures: Signatures, anchors: Iterable[int]) -> str | None:
    """What proves whose the keys are: the given key has signed, or an anchor covers the record of the first key."""
    if signatures.given is not None:
        return "key" if signatures.is_by_given else None
    first = next(iter(signatures.keys.values()), None)
    return "anchor" if first is not None and any(each >= first.height for each in anchors) else None


# ---- `lakegate verify`: the proof that a dataset line's chain, and on request its data, is what was recorded -------


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
    from lakegate.features.anchors.verify_anchors import AnchorOptions, verify_anchors  # noqa: PLC0415 - a feature

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
    from lakegate.features.anchors.verify_anchors import anchors_in  # noqa: PLC0415 - a feature

    passed, anchors, signatures = given.passed, anchors_in(given.anchor), given.signatures
    if given.key == KMS or given.objects or given.keep or given.integrity or given.replay:
        raise InputError(
            "--yaml asks no stack: leave out --key kms, --keep-anchor, --objects, --integrity and --replay"
        )
    faults = verified(file, line, signatures, anchors, passed)
    return _print_file(line, faults, signatures, anchors, passed, data=given.data, as_json=given.as_json)


def _of_stack(named: str, given: _Given, stack: str, *, local: bool) -> int:
    """Verify the chain of a line, and print the result; the exit code. InputError."""
    from lakegate.features.anchors.verify_anchors import (  # noqa: PLC0415 - a feature
        anchors_in,
        keep_anchor,
        kept_anchors,
    )

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
    from lakegate.features.odf.verify_slices import (  # noqa: PLC0415 - a feature
        integrity_in_words,
        read_slices,
        replay_in_words,
        replayed_slices,
    )

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

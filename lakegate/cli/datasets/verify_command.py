"""lakegate verify: chain and registered comparisons."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lakegate.aws.clients import client
from lakegate.aws.kms_signing import KmsKey
from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.options import AsJson, Local, OptionalLine, StackName
from lakegate.errors import InputError, SetUpError
from lakegate.extension_points import loaded, names
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.ledger.blocks import Head
from lakegate.gate.ledger.compare_objects import compared_objects
from lakegate.gate.ledger.ledger_yaml import Passed, stored_faults, verified
from lakegate.gate.ledger.signatures import SHORT, SPKI, Signatures, fingerprint, key_of_pem
from lakegate.text import counted, shown
from lakegate.text import printable as escaped
from lakegate.transfer.download_files import compared_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lakegate.aws.open_stack import DeployedStack
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.ledger.blocks import AnyBlock
    from lakegate.gate.ledger.compare_objects import Compared, DamagedObject
    from lakegate.gate.ledger.verification import ChainFault

    Comparison = Callable[[Dependencies, str, Sequence[AnyBlock]], tuple[Compared, Iterator[str]]]
    """Compares data with the blocks of a chain; also the result in words. What the extension point `comparisons` takes."""

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


def files_in_words(compared: Compared | None) -> Iterator[str]:
    """For people; nothing where nothing was compared."""
    if compared is None:
        return
    kept = "size and checksum of each are as recorded; no file is extra"
    yield from compared_in_words(compared, "file", "compared with the chain", kept)


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


ANCHOR = re.compile(r"([0-9]{1,15})=([0-9a-f]{64})", re.IGNORECASE | re.ASCII)


def anchors_in(texts: Iterable[str]) -> Mapping[int, str]:
    """Digests by height. InputError for a text that is no anchor."""
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
    given = _Given(tuple(anchor or ()), key, data, objects, integrity, replay, keep, as_json)
    if anchors is not None:
        if objects or keep or anchor or data or integrity or replay:
            raise InputError(
                "--anchors verifies daily anchors: leave out --anchor, --keep-anchor, --objects, --integrity, --replay and --data"
            )
        raise typer.Exit(loaded("anchors", "verify")(anchors, dataset, AnchorOptions(key, file, stack, local, as_json)))
    if dataset is None:
        raise InputError("name a line; without one, --anchors verifies every chain that is anchored")
    if sum(map(bool, (objects, data, integrity, replay))) > 1:
        raise InputError(
            "--objects compares the store with the chain, --data a folder, --integrity the slices, and --replay also with what "
            "arrived: give one of them"
        )
    raise typer.Exit(_of_stack(dataset, given, stack, local=local) if file is None else _of_file(dataset, given, file))


class AnchorOptions(NamedTuple):
    """Options of the command."""

    key: str | None
    file: Path | None
    stack: str
    local: bool
    as_json: bool


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
        kept: list[str] = loaded("anchors", "kept")(there, chain) if "kept" in names("anchors") else []
        anchors = anchors_in([*_texts(anchors), *kept])
        faults = stored_faults(dependencies, chain, head, signatures, anchors, passed=passed)
        top = Head(passed.height, passed.digest)
        compared, words = _compared(dependencies, chain, top, passed.blocks or (), given)
        if given.keep and not faults:
            loaded("anchors", "keep")(there, chain, head)
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
        with terminal.working("comparing objects") as progress:
            found = compared_objects(
                dependencies, chain, head.height, lambda count: progress(f"comparing objects: {count:,}")
            )
        return found, damages_in_words(dependencies.places.lake, found)
    if given.integrity or given.replay:
        compare: Comparison = loaded("comparisons", "integrity" if given.integrity else "replay")
        return compare(dependencies, chain, blocks)
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

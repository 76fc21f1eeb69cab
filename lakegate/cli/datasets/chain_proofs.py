"""Evidence for `lakegate verify`: keys and signatures, anchors, and comparisons with data.

Declares what features register at the points `comparisons` and `anchors`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.aws.clients import client
from lakegate.aws.kms_signing import KmsKey
from lakegate.base.errors import InputError, SetUpError
from lakegate.base.text import plural, quote
from lakegate.cli import terminal
from lakegate.gate.ledger.blocks import AnyBlock, Head
from lakegate.gate.ledger.signatures import SHORT, SPKI, Signatures, fingerprint, key_of_pem

if TYPE_CHECKING:
    from lakegate.aws.open_stack import DeployedStack
    from lakegate.cli.command_runner import CommandResult
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.ledger.compare_objects import Compared

# ---- Comparisons with data ----


class VerifiedChain(NamedTuple):
    """A chain whose blocks were verified."""

    name: str
    top: Head
    """The highest block."""
    blocks: Sequence[AnyBlock]
    """None where the comparison needs none."""
    dependencies: Dependencies | None
    """Of its stack; None of a chain in a file."""
    given: Any
    """The value of the option."""


class ChainComparison(NamedTuple):
    """A comparison with a chain: the type of the extension point `comparisons`, whose names are those of options."""

    help: str
    """Of the option."""
    phrase: str
    """Behind the name of the option in a list of all comparisons."""
    compare: Callable[[VerifiedChain], Compared]
    words: Callable[[VerifiedChain, Compared], Iterator[str]]
    """The result for people."""
    takes: type = bool
    """The type of the option."""
    needs_blocks: bool = True
    needs_stack: bool = True
    """Whether a chain in a file cannot be compared."""
    about: str = ""
    """A paragraph in the help of the command."""


MAX_SHOWN: Final = 20


def compared_in_words(compared: Compared, noun: str, done: str, kept: str) -> Iterator[str]:
    """For people, without remedies: what was done with things of a kind, and what holds where none is damaged."""
    begin = f"{plural(compared.count, noun)} {done}: "
    number = len(compared.damaged)
    if not number:
        yield f"{begin}{kept}."
        return
    yield f"{begin}{plural(number, 'is', 'are')} not as recorded."
    for each in compared.damaged[:MAX_SHOWN]:
        yield f"{each.damage}: {each.file}" + ("" if each.height is None else f", block {each.height}")
    yield from terminal.more(number, MAX_SHOWN)


# ---- Anchors ----


class AnchorOptions(NamedTuple):
    """Options of the command."""

    key: str | None
    file: Path | None
    stack: str
    local: bool


class KeptAnchors(NamedTuple):
    """Anchors that are kept, and how they are verified: the type of the extension point `anchors`."""

    kept: Callable[[DeployedStack, str], list[str]]
    """Those of a chain, as HEIGHT=DIGEST."""
    keep: Callable[[DeployedStack, str, Head], None]
    """Keeps the head of a chain."""
    verify: Callable[[str, str | None, AnchorOptions], CommandResult[Any]]
    """The proof of anchors at a place for a dataset, or for every chain that they name."""
    about: str
    """Paragraphs in the help of the command."""


# ---- Keys and signatures ----


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
        match = ANCHOR.fullmatch(text)
        if match is None:
            raise InputError(
                "an anchor is HEIGHT=DIGEST, the digest in 64 hexadecimal digits, as `verify` prints it; "
                f"not {quote(text)}"
            )
        height, digest = int(match[1]), match[2].lower()
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
        blocks = plural(key.signed, "block")
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
    """The proof whose the keys are: the given key has signed, or an anchor covers the record of the first key."""
    if signatures.given is not None:
        return "key" if signatures.is_by_given else None
    first = next(iter(signatures.keys.values()), None)
    return "anchor" if first is not None and any(anchor >= first.height for anchor in anchors) else None

"""Keys and signatures of a chain: what `lakegate verify` is given (--key), and what it says of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError, SetUpError
from lakegate.contracts.lake.signatures import SHORT, SPKI, Signatures, fingerprint, key_of_pem
from lakegate.contracts.words import counted
from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.signing import KmsKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lakegate.cli.aws import DeployedStack

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

"""Signatures of a chain: whatever is changed, removed, or signed by another is found; what is not signed is reported."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import as_document, in_words, signatures_by
from lakegate.gate.ledger.blocks import GENESIS, canonical, canonical_json, digest, from_json
from lakegate.gate.ledger.signatures import (
    SPKI,
    ChainKey,
    Signature,
    Signatures,
    SignedText,
    fingerprint,
    is_public_key,
    key_content,
    key_of_pem,
)
from lakegate.gate.ledger.verification import ChainFault, Wrong, verify_signed
from tests.fakes.signing import MemoryKey
from tests.reference.sampling import FULL
from tests.unit.gate.ledger.ledger_chain import CHAIN, RECORD, STORED, a_block
from tests.unit.gate.ledger.signing import FORGER, ONE, TWO, key_record, signature_by, signed_chain

LINE = RECORD.chain
STEPS = ("old", "record", "key", "block", "record", "block", "next", "block", "record")
SIGNED = signed_chain(STEPS)
SHORT_ONE, SHORT_TWO, SHORT_FORGER = (f"the key `{each.name[:12]}`" for each in (ONE, TWO, FORGER))


def read(chain: list[SignedText], given: str | None = None) -> tuple[tuple[ChainFault, ...], Signatures]:
    signatures = signatures_by(None)
    signatures.given = given
    return verify_signed(chain, LINE, signatures), signatures


def faults(chain: list[SignedText], given: str | None = None) -> tuple[ChainFault, ...]:
    return read(chain, given)[0]


def changed(height: int, signature: Signature | None, chain: list[SignedText] | None = None) -> list[SignedText]:
    chain = list(chain or SIGNED)
    chain[height] = SignedText(chain[height].text, signature)
    return chain


def test_a_signed_chain_has_no_fault_and_tells_who_signed() -> None:
    """Older deliveries, records of people, the first key, a rotation: how many blocks each key signed, and up to where."""
    found, signatures = read(SIGNED)

    assert found == ()
    assert signatures.keys == {ONE.name: ChainKey(ONE.public_key(), 2, 4), TWO.name: ChainKey(TWO.public_key(), 6, 1)}
    assert (signatures.current, signatures.covered) == (TWO.name, 7)
    assert [faults(SIGNED, each.name) for each in (ONE, TWO)] == [(), ()]


def test_a_chain_without_signatures_verifies_and_says_so() -> None:
    """Chains from before are no fault, unless a key is given that should have signed."""
    chain = [SignedText(text) for text in STORED]
    found, signatures = read(chain)

    assert (found, list(in_words(signatures, 4, {}))) == ((), ["Not signed: this chain names no key (docs/ledger.md)."])
    assert faults(chain, ONE.name) == (
        ChainFault(0, Wrong.UNKNOWN_KEY, f"no block is signed by the given key {ONE.name[:12]}"),
    )


@pytest.mark.parametrize("height", [each for each, (_, signature) in enumerate(SIGNED) if signature])
def test_a_flip_of_a_signature_is_found(height: int) -> None:
    """Every bit (nightly; else one of each byte) of the signature, and every character of the key's name."""
    signature = SIGNED[height].signature
    assert signature is not None
    value, wrong = signature.value, []
    for place in range(len(value)):
        for bit in range(8) if FULL else (place % 8,):
            other = value[:place] + bytes([value[place] ^ 1 << bit]) + value[place + 1 :]
            wrong.append(faults(changed(height, Signature(signature.key, other))))
    for place, character in enumerate(signature.key):
        name = signature.key[:place] + ("0" if character != "0" else "1") + signature.key[place + 1 :]
        wrong.append(faults(changed(height, Signature(name, value))))
    wrong += [faults(changed(height, Signature(signature.key, other))) for other in (b"", value[:-1], value + b"\0")]

    assert {tuple((each.height, each.what) for each in found) for found in wrong} == {
        ((height, Wrong.SIGNATURE),),
        ((height, Wrong.UNKNOWN_KEY),),
    }


def test_a_changed_block_with_every_link_made_good_again_is_found_by_its_signature() -> None:
    """Who can write the table but not sign changes a block, all digests above, and the head: each signature above fails."""
    rewritten: list[SignedText] = []
    previous = GENESIS
    for height, (text, signature) in enumerate(SIGNED):
        block = replace(from_json(text.decode()), previous=previous)
        block = replace(block, rows=11) if height == 3 else block  # type: ignore[call-arg] # a delivery
        rewritten.append(SignedText(canonical(block), signature))
        previous = digest(block)

    assert faults(rewritten) == tuple(
        ChainFault(height, Wrong.SIGNATURE, f"it is not what {key} signed")
        for height, key in ((3, SHORT_ONE), (5, SHORT_ONE), (6, SHORT_ONE), (7, SHORT_TWO))
    )


@pytest.mark.parametrize("height", [2, 3, 5, 6, 7])
def test_a_removed_signature_is_found(height: int) -> None:
    """Of a delivery above the first key, of the first key's record, and of a rotation's."""
    key = SHORT_TWO if height == 7 else SHORT_ONE

    assert faults(changed(height, None)) == (ChainFault(height, Wrong.UNSIGNED, f"{key} should have signed it"),)


@pytest.mark.parametrize(("height", "by"), [(3, FORGER), (3, TWO), (7, ONE), (7, FORGER), (4, FORGER), (0, ONE)])
def test_a_signature_by_another_key_is_found(height: int, by: MemoryKey) -> None:
    """One that the chain does not name, one that it names later, and one that was replaced; of a record of a person, too."""
    signature = signature_by(by, from_json(SIGNED[height].text.decode()))
    now = {0: "none", 7: SHORT_TWO}.get(height, SHORT_ONE)

    assert faults(changed(height, signature)) == (
        ChainFault(height, Wrong.UNKNOWN_KEY, f"signed by the key `{signature.key[:12]}`, not by {now}"),
    )


def test_the_sweep_of_a_record_may_be_signed() -> None:
    """The signature of a record of a person is verified, and covers it."""
    top = from_json(SIGNED[8].text.decode())
    found, signatures = read(changed(8, signature_by(TWO, top)))

    assert (found, signatures.covered) == ((), 8)
    assert faults(changed(8, Signature(TWO.name, bytes(64))))[0].what is Wrong.SIGNATURE


def test_a_chain_signed_again_by_another_key_is_found_by_the_given_key() -> None:
    """Anyone who writes the whole chain again names another key: without --key it is intact, and `verify` says so."""
    forged = signed_chain(STEPS, FORGER)
    found, signatures = read(forged)

    assert (found, list(in_words(signatures, 8, {}))[-1]) == (
        (),
        "The chain itself names these keys: only --key FILE, or an anchor above their records, proves whose they are.",
    )
    assert faults(forged, ONE.name) == (
        ChainFault(0, Wrong.UNKNOWN_KEY, f"no block is signed by the given key {ONE.name[:12]}"),
    )
    assert faults(forged, TWO.name) == ()


def test_a_key_that_the_key_before_did_not_sign_is_found() -> None:
    """A rotation by the new key itself, by nobody, or to a chain that has no key before."""
    base = SIGNED[:6]
    previous = digest(from_json(base[-1].text.decode()))
    rotation = key_record(6, previous, FORGER, ONE)
    first = key_record(6, previous, FORGER)

    assert faults([*base, SignedText(canonical(rotation), signature_by(FORGER, rotation))]) == (
        ChainFault(6, Wrong.UNKNOWN_KEY, f"signed by {SHORT_FORGER}, not by {SHORT_ONE}"),
    )
    assert [each.what for each in faults([*base, SignedText(canonical(first), signature_by(FORGER, first))])] == [
        Wrong.UNKNOWN_KEY,
        Wrong.UNKNOWN_KEY,
    ]
    alone = key_record(0, GENESIS, TWO, ONE)
    assert faults([SignedText(canonical(alone), signature_by(TWO, alone))]) == (
        ChainFault(0, Wrong.UNKNOWN_KEY, f"it does not name {SHORT_TWO} as the one that replaces none"),
    )


def test_a_key_under_the_name_of_another_is_found() -> None:
    """The name of a key is the digest of the public key that its record has."""
    record = key_record(0, GENESIS, FORGER, key=ONE.name)

    assert faults([SignedText(canonical(record), signature_by(FORGER, record))]) == (
        ChainFault(0, Wrong.UNKNOWN_KEY, f"it does not name {SHORT_FORGER} as the one that replaces none"),
    )


def test_a_chain_of_another_line_is_found() -> None:
    """Its signatures hold, and its blocks say whose it is."""
    found = verify_signed(SIGNED, "orders/other_v1", signatures_by(None))

    assert {(each.height, each.what) for each in found} == {(height, Wrong.CHAIN) for height in range(len(SIGNED))}


def test_any_change_of_a_long_signed_chain_is_found_by_its_key() -> None:
    """Blocks and signatures deleted, swapped, repeated, or moved to another block, at random places below the last signature."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - a failure is replayed from it
    chance = random.Random(seed)
    chain = signed_chain(["key", *["block"] * 60, "next", *["block"] * 60])
    unseen = []
    for _ in range(200 if FULL else 20):
        low, high = sorted(chance.sample(range(len(chain)), 2))
        swapped = list(chain)
        swapped[low], swapped[high] = swapped[high], swapped[low]
        others = (
            [*chain[:low], *chain[low + 1 :]],
            swapped,
            [*chain[: low + 1], chain[low], *chain[low + 1 :]],
            changed(low, chain[high].signature, chain),
            changed(high, None, chain),
        )
        unseen += [(low, high, what) for what, other in enumerate(others) if not faults(other, TWO.name)]

    assert not unseen


def test_what_cannot_be_read_is_no_reason_to_stop() -> None:
    """A text that is no block is its own fault; the signatures above it are verified all the same."""
    found, signatures = read([*SIGNED[:3], SignedText(b"{}", SIGNED[3].signature), *SIGNED[4:]])

    assert [(each.height, each.what) for each in found] == [(3, Wrong.ALTERED), (3, Wrong.SCHEMA)]
    assert signatures.keys[ONE.name].signed == 3


def test_what_is_signed_is_what_the_guide_says() -> None:
    """For other languages: the text, its beginning, and how a key is named."""
    block = CHAIN[0]
    text = b"lakegate-signature/1\n" + hashlib.sha3_256(canonical(block)).hexdigest().encode()
    ONE.private.public_key().verify(signature_by(ONE, block).value, text)

    assert ONE.name == hashlib.sha256(ONE.public_key()).hexdigest()
    assert a_block() == block


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
        b"-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----",
        ONE.pem.replace(b"PUBLIC", b"PRIVATE"),
        ONE.pem.replace(b"MCow", b"MCox"),
        ONE.pem.replace(b"=\n", b"AAA=\n"),
        ONE.pem.replace(b"-----END PUBLIC KEY-----", b""),
    ],
)
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, text: bytes) -> None:
    """The message says which kind of key is needed, and where it is described."""
    path = tmp_path / "key.pem"
    path.write_bytes(text)
    with pytest.raises(InputError) as refused:
        signatures_by(path)

    assert str(refused.value) == (
        f"{path} is not the public key of Ed25519 in PEM (BEGIN PUBLIC KEY); docs/ledger.md says how to get it"
    )


def test_a_key_is_read_from_its_file(tmp_path: Path) -> None:
    """With Windows line ends and blanks around it, too; a file that is missing is named."""
    path = tmp_path / "key.pem"
    path.write_bytes(b"\n" + ONE.pem.replace(b"\n", b"\r\n"))

    assert (key_of_pem(ONE.pem), signatures_by(path).given) == (ONE.public_key(), ONE.name)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        signatures_by(tmp_path / "none")


def test_what_is_signed_is_told() -> None:
    """By whom, how much, and what proves whose the keys are: the given key, an anchor, or nothing."""
    _, signatures = read(SIGNED)
    begin = [
        f"4 blocks signed by the key {ONE.name}, which block 2 names.",
        f"1 block signed by the key {TWO.name}, which block 6 names.",
        "Signatures cover block 7 and all below it; above are records, for the next delivery to cover.",
    ]
    keys = [{"key": ONE.name, "height": 2, "signed": 4}, {"key": TWO.name, "height": 6, "signed": 1}]

    assert list(in_words(signatures, 8, {1: ""}))[:3] == begin
    assert list(in_words(signatures, 7, {2: ""}))[2:] == [
        "An anchor is above the record of the first key: nobody named another one since."
    ]
    assert as_document(signatures, {1: ""}) == {"keys": keys, "covered": 7, "proven_by": None}
    assert as_document(signatures, {2: ""})["proven_by"] == "anchor"
    signatures.given = ONE.name
    assert list(in_words(signatures, 7, {}))[-1] == f"The given key {ONE.name[:12]} is one of them."
    assert as_document(signatures, {2: ""})["proven_by"] == "key"
    signatures.given = FORGER.name
    assert as_document(signatures, {2: ""})["proven_by"] is None


def test_a_record_of_a_key_has_a_key_of_ed25519() -> None:
    """Its schema takes no other public key."""
    record = key_record(0, GENESIS, ONE)
    text = canonical_json({**json.loads(canonical(record)), "content": {**record.content, "public_key": "QQ=="}})

    assert [each.what for each in faults([SignedText(text)])] == [Wrong.SCHEMA]


LOW_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
)
"""The eight points whose order divides 8, and their other encodings ("Taming the many EdDSAs", table 1)."""


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_key_that_everybody_can_sign_with_is_no_key(point: str) -> None:
    """A signature of such a key holds for many texts."""
    assert not is_public_key(SPKI + bytes.fromhex(point))
    assert is_public_key(SPKI + bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))


def test_a_chain_that_names_such_a_key_is_told() -> None:
    """As one whose key belongs to somebody else."""
    key = SPKI + bytes.fromhex(LOW_ORDER[0])
    record = replace(RECORD, kind="key", content=key_content(key, None), height=0)
    found = list(signatures_by(None).faults(0, record, "0" * 64, None))

    assert (
        "unknown-key",
        f"the key `{fingerprint(key)[:12]}` is no key of Ed25519 that only its owner can sign with",
    ) in found

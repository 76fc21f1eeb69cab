"""Heads of all chains, signed each day; chains compared with anchors."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Final, Literal, NamedTuple

from lakegate.aws.settings import Settings
from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.json_codec import DOCUMENT_NAME, Exact, NotEmpty, Pattern, Sha256, decode, encode, sha256_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_names import datasets_of_versions
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.ledger.blocks import canonical_json, contract_chain
from lakegate.gate.ledger.commit import signers
from lakegate.gate.ledger.record_contents import PUBLIC_KEY
from lakegate.gate.ledger.signatures import SHORT, Verifies, fingerprint, is_public_key
from lakegate.gate.ports import Address, ObjectVersion, every_version
from lakegate.gate.registry.registry_rows import Publication

# ---- Daily anchors ----
# The anchor of a day has one part or more, each a document. docs/ledger.md describes them for other languages.


FORMAT: Final = "lakegate-anchor/1"
FOLDER: Final = "_daily/"
"""Of the keys of anchors; no chain has a name that begins so."""
PREFIX: Final = b"lakegate-anchor-signature/1\n"
"""The beginning of a signed text, so that the signature of an anchor is one of nothing else."""
MAX_HEADS: Final = 10_000
"""Of a part: some 1.5 MB."""
_KEY: Final = re.compile(rf"{FOLDER}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/([0-9]{{5}})\.json")


@dataclass(frozen=True, slots=True)
class AnchoredHead:
    """The top of a chain, when the anchor was made."""

    chain: NotEmpty
    height: Exact
    digest: Sha256
    """Of the block at that height."""


@dataclass(frozen=True, slots=True)
class Previous:
    """The document before."""

    key: Annotated[str, Pattern(r"_daily/[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9]{5}\.json")]
    sha256: Sha256


@dataclass(frozen=True, slots=True)
class AnchorSignature:
    """Of a document without its signatures, by a key."""

    key: Sha256
    """SHA-256 of the public key."""
    public_key: Annotated[str, Pattern(PUBLIC_KEY)]
    """SubjectPublicKeyInfo of an Ed25519 key (RFC 8410), in Base64."""
    value: Annotated[str, Pattern("[A-Za-z0-9+/]{85}[AQgw]==")]
    """64 bytes, in Base64."""

    @staticmethod
    def by(public_key: bytes, value: bytes) -> AnchorSignature:
        """The signature by a key."""
        return AnchorSignature(fingerprint(public_key), _base64(public_key), _base64(value))


@dataclass(frozen=True, slots=True)
class Anchor:
    """A document of a daily anchor: heads of the chains of the ledger.

    docs/ledger.md describes it. The stored text is the canonical form of RFC 8785; the next document names it by SHA-256 of that.
    """

    date: Annotated[str, Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}")]
    """The day (UTC)."""
    part: Exact
    """From 0."""
    is_last: bool = field(metadata={DOCUMENT_NAME: "last"})
    """Whether the anchor of the day ends with it."""
    locked_days: Exact
    """For how many days nobody could delete it."""
    previous: Previous | None
    """The document before; null of the first one."""
    heads: tuple[AnchoredHead, ...]
    """Sorted by chain; a chain is in one part of a day."""
    signatures: tuple[AnchorSignature, ...]
    """None in a stack that signs nothing; two where one key replaces another."""
    format: Literal["lakegate-anchor/1"] = FORMAT

    @property
    def key(self) -> str:
        """The key of its object."""
        return anchor_key(self.date, self.part)

    @property
    def signed_text(self) -> bytes:
        """The text that is signed."""
        unsigned = canonical_json({name: value for name, value in encode(self).items() if name != "signatures"})
        return PREFIX + sha256(unsigned).encode()


def anchor_key(day: str, part: int) -> str:
    """The key of a document."""
    return f"{FOLDER}{day}/{part:05}.json"


def day_of(key: str) -> str | None:
    """The day in the key of a document; None for another key."""
    match = _KEY.fullmatch(key)
    return match[1] if match and _is_day(match[1]) else None


def sha256(text: bytes) -> str:
    """By which the next document names this one."""
    return sha256_of(text)


def to_json(anchor: Anchor) -> bytes:
    """The canonical form, which is stored."""
    return canonical_json(encode(anchor))


def from_json(text: bytes) -> Anchor:
    """Parse a canonical form. Raises InputError for any other text."""
    try:
        anchor = decode(Anchor, json.loads(text), strict=True)
        is_same = _is_whole(anchor) and to_json(anchor) == text
    except (ValueError, RecursionError, InputError):
        raise InputError("it is not the JSON of an anchor") from None
    if not is_same:
        raise InputError("it is not the canonical form of an anchor")
    return anchor


def with_signature(anchor: Anchor, signatures: Iterable[AnchorSignature]) -> Anchor:
    """The same anchor, signed."""
    return replace(anchor, signatures=tuple(signatures))


def _is_whole(anchor: Anchor) -> bool:
    """Whether days exist, heads are sorted, and keys are good."""
    keys = [(signature.key, base64.b64decode(signature.public_key)) for signature in anchor.signatures]
    return (
        _is_day(anchor.date)
        and (anchor.previous is None or day_of(anchor.previous.key) is not None)
        and all(low.chain < high.chain for low, high in pairwise(anchor.heads))
        and all(is_public_key(public_key) and key == fingerprint(public_key) for key, public_key in keys)
    )


def _is_day(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


# ---- What anchors prove ----
# Anchors contradict each other where a chain was rewritten between two days; a chain is compared with all of them besides.


class AnchorFlaw(StrEnum):
    """A fault that anchors show."""

    REWRITTEN = "rewritten"
    """The chain has another block at an anchored height."""
    TRUNCATED = "truncated"
    """The chain is shorter than it was."""
    MISSING_CHAIN = "missing-chain"
    """The chain is not there any more."""
    MISSING_ANCHOR = "missing-anchor"
    """A document is not there that another one names, or was hidden."""
    ALTERED_ANCHOR = "altered-anchor"
    """A document is not what was written: no anchor, or another one than the next names."""
    MISPLACED_ANCHOR = "misplaced-anchor"
    """A document does not follow the one before: another order, a fork, a repeated one."""
    UNSIGNED_ANCHOR = "unsigned-anchor"
    """A document has no signature, and one before it has."""
    ANCHOR_SIGNATURE = "anchor-signature"
    """A signature is not that of its document by its key."""
    UNKNOWN_KEY = "unknown-key"
    """No document is signed by the given key, or a later one by a key that it does not lead to."""


class AnchorFault(NamedTuple):
    """One fault."""

    what: AnchorFlaw
    where: str
    """The chain, or the key of the document."""
    why: str


class Anchored(NamedTuple):
    """A head of a chain that anchors name."""

    height: int
    digest: str
    day: str
    """The first one whose anchor names it."""


class _Seen(NamedTuple):
    """The document before."""

    key: str
    sha256: str
    anchor: Anchor | None


@dataclass(slots=True)
class Anchors:
    """Facts of anchors, as their documents pass, in the order of their keys."""

    verifies: Verifies
    given: str | None = None
    """The fingerprint of a key that is known from elsewhere."""
    only: str | None = None
    """The one chain whose heads are kept; None: all."""
    faults: list[AnchorFault] = field(default_factory=list)
    heads: dict[str, list[Anchored]] = field(default_factory=dict)
    """By chain, the lowest first, each once."""
    keys: dict[str, int] = field(default_factory=dict)
    """By fingerprint: how many documents it signed."""
    days: list[str] = field(default_factory=list)
    """Of which there are anchors, finished or not."""
    documents: int = 0
    is_finished: bool = True
    """Whether the anchor of the last day is whole; a later pass finishes it."""
    _before: _Seen | None = None
    _first: Anchor | None = None
    _trusted: set[str] = field(default_factory=set)
    _today: set[str] = field(default_factory=set)
    _parts: int = 0
    _gone: set[str] = field(default_factory=set)

    @property
    def is_by_given(self) -> bool:
        """Whether the given key signed a document: it proves all before it, and the keys that replace it."""
        return self.given is not None and self.given in self._trusted

    def read(self, documents: Iterable[tuple[str, bytes]]) -> None:
        """Verify all documents, sorted by key."""
        for key, text in documents:
            self._read(key, text)
        if self.given is not None and not self.is_by_given:
            why = f"no anchor is signed by the given key {self.given[:SHORT]}"
            self.faults.insert(0, AnchorFault(AnchorFlaw.UNKNOWN_KEY, "", why))
        if self._first is not None and self._first.previous is not None:
            gone = self._first.previous.key
            days = date.fromisoformat(self.days[-1]) - date.fromisoformat(day_of(gone) or self.days[-1])
            if days.days <= self._first.locked_days:  # else whoever has the right may have deleted it
                self._fault(AnchorFlaw.MISSING_ANCHOR, gone, f"{self._first.key} names it as the one before")

    def _read(self, key: str, text: bytes) -> None:
        if day_of(key) is None:
            self._fault(AnchorFlaw.MISPLACED_ANCHOR, key, "no anchor has this key")
            return
        self.documents += 1
        try:
            anchor = from_json(text)
        except InputError as error:
            self._fault(AnchorFlaw.ALTERED_ANCHOR, key, str(error))
            self._before = _Seen(key, sha256(text), None)
            return
        if anchor.key != key:
            self._fault(AnchorFlaw.MISPLACED_ANCHOR, key, f"it is the document {anchor.key}")
            self._before = _Seen(key, sha256(text), None)
            return
        self._follows(anchor)
        self._signed(anchor)
        self._learn(anchor)
        self._before = _Seen(key, sha256(text), anchor)

    def _follows(self, anchor: Anchor) -> None:
        before, named = self._before, anchor.previous
        if before is None:
            self._first = anchor
        elif named is None:
            self._fault(AnchorFlaw.MISPLACED_ANCHOR, anchor.key, f"it names none before, and {before.key} is there")
        elif named.key > before.key:
            self._fault(AnchorFlaw.MISSING_ANCHOR, named.key, f"{anchor.key} names it as the one before")
        elif named.key < before.key:
            self._fault(AnchorFlaw.MISPLACED_ANCHOR, before.key, f"{anchor.key} follows {named.key} instead")
        elif named.sha256 != before.sha256:
            self._fault(AnchorFlaw.ALTERED_ANCHOR, before.key, f"its SHA-256 is not the one that {anchor.key} names")
        elif before.anchor is not None and not _continues(before.anchor, anchor):
            self._fault(AnchorFlaw.MISPLACED_ANCHOR, anchor.key, f"it does not continue {before.key}")

    def _signed(self, anchor: Anchor) -> None:
        key = anchor.key
        if not anchor.signatures and self.keys:
            self._fault(AnchorFlaw.UNSIGNED_ANCHOR, key, "it has no signature, and an earlier one has")
        for signature in anchor.signatures:
            if not self.verifies(
                base64.b64decode(signature.public_key), base64.b64decode(signature.value), anchor.signed_text
            ):
                self._fault(AnchorFlaw.ANCHOR_SIGNATURE, key, f"it is not what the key {signature.key[:SHORT]} signed")
                return
        names = {item.key for item in anchor.signatures}
        if self.given in names or self._trusted & names or (self.given is None and not self._trusted):
            self._trusted |= names
        elif self._trusted and names:
            listed = ", ".join(sorted(name[:SHORT] for name in names))
            self._fault(AnchorFlaw.UNKNOWN_KEY, key, f"signed by {listed}, to which no key before it leads")
        for entry in anchor.signatures:
            self.keys[entry.key] = self.keys.get(entry.key, 0) + 1

    def _learn(self, anchor: Anchor) -> None:
        if self.days[-1:] != [anchor.date]:
            self.days.append(anchor.date)
            self._today, self._parts = set(), 0
        self._parts += 1
        for head in anchor.heads:
            self._today.add(head.chain)
            if self.only in {None, head.chain}:
                kept = self.heads.setdefault(head.chain, [])
                newest = kept[-1] if kept else None
                if newest is not None and head.height < newest.height:
                    reason = (
                        f"its head was block {newest.height} on {newest.day}, and block {head.height} on {anchor.date}"
                    )
                    self._fault(AnchorFlaw.TRUNCATED, head.chain, reason)
                elif newest is not None and head.height == newest.height and head.digest != newest.digest:
                    reason = f"block {head.height} of {newest.day} is another one on {anchor.date}"
                    self._fault(AnchorFlaw.REWRITTEN, head.chain, reason)
                if newest is None or (head.height, head.digest) != newest[:2]:
                    kept.append(Anchored(head.height, head.digest, anchor.date))
        self.is_finished = anchor.is_last
        if anchor.is_last and self._parts == anchor.part + 1:
            for chain in sorted(self.heads.keys() - self._today - self._gone):
                self._gone.add(chain)
                last = self.heads[chain][-1]
                why = f"the anchor of {anchor.date} does not name it, and that of {last.day} does"
                self._fault(AnchorFlaw.MISSING_CHAIN, chain, why)

    def _fault(self, what: AnchorFlaw, where: str, why: str) -> None:
        self.faults.append(AnchorFault(what, where, why))


def _continues(before: Anchor, anchor: Anchor) -> bool:
    """Whether a document is the next part of an anchor, or the first one of a later day."""
    if anchor.date == before.date:
        tops = [entry.heads[place].chain for entry, place in ((before, -1), (anchor, 0)) if entry.heads]
        is_sorted = tops == sorted(set(tops))
        return not before.is_last and anchor.part == before.part + 1 and is_sorted
    return before.is_last and anchor.part == 0


def contradictions(
    chain: str, anchored: Sequence[Anchored], height: int, digests: Mapping[int, str]
) -> Iterator[AnchorFault]:
    """Contradictions of a chain of a height (-1: no block) to its anchors; `digests` has those at anchored heights."""
    if height < 0:
        yield AnchorFault(AnchorFlaw.MISSING_CHAIN, chain, f"the anchor of {anchored[-1].day} names it")
        return
    wrong = [entry for entry in anchored if entry.height <= height and digests.get(entry.height) != entry.digest]
    if wrong:
        first = min(wrong)
        why = f"block {first.height} is not the one that the anchor of {first.day} names"
        yield AnchorFault(AnchorFlaw.REWRITTEN, chain, why)
    top = max(anchored)
    if top.height > height:
        why = f"it ends with block {height}, and the anchor of {top.day} names block {top.height}"
        yield AnchorFault(AnchorFlaw.TRUNCATED, chain, why)


# ---- The anchor of a day ----
# Every document is written once, if it is absent. What is there says where a pass begins, so that a pass which is interrupted,
# or out of time, is continued by the next one, and two at a time write one anchor.


SECONDS_OF_ANCHOR: Final = 30.0
"""Seconds: with less than this left no further document is begun."""
DAYS: Final = 31
"""Chains of unrouted deliveries, one a day, that are looked for; those of earlier anchors stay in all later ones."""
NEAR: Final = 3
"""Days that are looked at one by one for the newest document; then the bucket is listed."""
BATCH: Final = 1_000
"""Heads that are read at once."""


@dataclass(slots=True)
class AnchorPass:
    """Counts of a pass, for metrics."""

    documents: int = 0
    """Documents that were written."""
    heads: int = 0
    """Heads that they name."""
    contradicted: list[str] = field(default_factory=list)
    """Chains that are not any more what the anchor before names: rewritten, cut off or gone."""
    is_complete: bool = False
    """Whether the anchor of today is whole."""


class AnchorStore(NamedTuple):
    """The store of anchors."""

    bucket: str
    days: int
    """For how many days nobody can delete one."""


def anchor_store(settings: Settings) -> AnchorStore:
    """The store of a stack."""
    return AnchorStore(settings.anchors, settings.anchor_days)


def _store(dependencies: Dependencies) -> AnchorStore:
    found: AnchorStore = dependencies.of("anchors")
    return found


class _Kept(NamedTuple):
    """The newest document."""

    text: bytes
    anchor: Anchor


def keep_anchor_of_today(dependencies: Dependencies, most: int = MAX_HEADS) -> Steps[AnchorPass]:
    """Write what is missing of today's anchor, and before of an earlier one that was not finished.

    Before any chain has a block there is nothing to anchor: nothing is written, which nobody could delete.

    Raises Alarm where the newest document is no anchor, and where the stack has not the key that signed it.
    """
    done = AnchorPass()
    began = dependencies.now.date()
    today = began.isoformat()
    known: dict[str, AnchoredHead | None] = {}
    of_day = ""
    stored: list[ObjectVersion] = []
    before: _Kept | None = None
    while True:
        if before is None or before.anchor.is_last:
            stored = _newest(dependencies, began)
            before = _read(dependencies, stored[-1]) if stored else None
        if before is not None and before.anchor.is_last and before.anchor.date == today:
            done.is_complete = True
            return done
        if dependencies.remaining() < SECONDS_OF_ANCHOR:
            return done
        day = today if before is None or before.anchor.is_last else before.anchor.date
        if day != of_day:
            known, of_day = _chains(dependencies, stored, day), day
        anchor, wrong = _next(dependencies, before, day, known, most)
        if (
            before is None and anchor.is_last and not anchor.heads
        ):  # of a stack that is being made, which may yet be rolled back
            done.is_complete = True
            return done
        anchor = _signed(dependencies, anchor, before)
        to, text = Address(_store(dependencies).bucket, anchor.key), to_json(anchor)
        try:
            yield from perform(
                Effect.ANCHOR, dependencies.objects.put, to, text, absent=True, content_type="application/json"
            )
        except ConditionFailed:  # another pass wrote it: this one goes on behind it
            before = None
            continue
        before = _Kept(text, anchor)
        done.documents += 1
        done.heads += len(anchor.heads)
        done.contradicted += wrong


def _newest(dependencies: Dependencies, last: date) -> list[ObjectVersion]:
    """The documents of the newest day up to `last` that has any, by key. What is put into the future is ignored.

    A bucket keeps documents for years: the days before `last` are looked at one by one, and all others only without them.
    """
    for ago in range(NEAR):
        if versions := _documents(dependencies, f"{FOLDER}{last - timedelta(days=ago)}/"):
            return versions
    earlier = [
        document for document in _documents(dependencies, FOLDER) if (day_of(document.key) or "") <= last.isoformat()
    ]
    return [document for document in earlier if day_of(document.key) == day_of(earlier[-1].key)]


def _documents(dependencies: Dependencies, prefix: str) -> list[ObjectVersion]:
    """The first version of each document below a prefix, sorted by key; what is put over it is ignored."""
    listed = every_version(dependencies.objects, _store(dependencies).bucket, prefix)
    versions = {version.key: version for version in listed}  # the newest version of a key comes first
    return [value for key, value in sorted(versions.items()) if day_of(key)]


def _read(dependencies: Dependencies, document: ObjectVersion) -> _Kept:
    text = dependencies.objects.read(Address(document.bucket, document.key, document.version))
    try:
        return _Kept(text, from_json(text))
    except InputError:
        raise Alarm("anchor-unreadable", document.key) from None


def _chains(dependencies: Dependencies, stored: Sequence[ObjectVersion], day: str) -> dict[str, AnchoredHead | None]:
    """Every chain that may have a block, sorted: what is published, and what the anchor before this day names, with its head."""
    names: set[str] = set()
    for versions in _list_published(dependencies):
        names |= datasets_of_versions(versions) | {contract_chain(entry.contract) for entry in versions}
    now = dependencies.now.date()
    names |= {f"{lake_layout.UNROUTED}/{(now - timedelta(days=ago)).isoformat()}" for ago in range(DAYS)}
    if stored and day_of(stored[-1].key) == day:
        stored = _newest(dependencies, date.fromisoformat(day) - timedelta(days=1))
    before: dict[str, AnchoredHead] = {}
    for version in stored:
        before |= {head.chain: head for head in _read(dependencies, version).anchor.heads}
    return {name: before.get(name) for name in sorted(names | before.keys())}


def _list_published(dependencies: Dependencies) -> Iterator[list[Publication]]:
    """The versions of contracts and workflows, a page of the registry at a time."""
    for prefix in ("", "_"):
        for page in dependencies.registry.pages(prefix):
            yield [version for contract in page.contracts for version in contract.versions]


def _next(
    dependencies: Dependencies, before: _Kept | None, day: str, known: dict[str, AnchoredHead | None], most: int
) -> tuple[Anchor, list[str]]:
    """The next document, and which of its chains contradict the anchor before."""
    names, wrong = list(known), list[str]()
    continued = before.anchor if before is not None and before.anchor.date == day else None
    place = bisect_right(names, continued.heads[-1].chain) if continued else 0
    heads: list[AnchoredHead] = []
    while place < len(names) and len(heads) < most:
        chains = names[place : place + min(BATCH, most - len(heads))]
        found = zip(chains, dependencies.ledger.heads(chains), strict=True)
        now = {chain: AnchoredHead(chain, *head) for chain, head in found}
        heads += [head for head in now.values() if head.height >= 0]
        moved = [then for chain, then in ((name, known[name]) for name in chains) if then and now[chain] != then]
        there = dependencies.ledger.digests([(then.chain, then.height) for then in moved])
        wrong += [
            then.chain
            for then, digest in zip(moved, there, strict=True)
            if digest != then.digest or now[then.chain].height <= then.height
        ]
        place += len(chains)
    previous = Previous(before.anchor.key, sha256(before.text)) if before else None
    part, is_last = continued.part + 1 if continued else 0, place == len(names)
    return Anchor(day, part, is_last, _store(dependencies).days, previous, tuple(heads), ()), wrong


def _signed(dependencies: Dependencies, anchor: Anchor, before: _Kept | None) -> Anchor:
    known = before.anchor.signatures[-1].key if before and before.anchor.signatures else ""
    keys = signers(dependencies.signing, known, anchor.key)
    return with_signature(anchor, (AnchorSignature.by(key.public_key(), key.sign(anchor.signed_text)) for key in keys))

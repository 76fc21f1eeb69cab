"""What anchors prove: that they follow each other without a gap, and which chains are not any more what was anchored.

Anchors contradict each other where a chain was rewritten between two days; a chain is compared with all of them besides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.anchors import Anchor, day_of, from_json, sha256
from lakegate.contracts.lake.signatures import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.contracts.lake.anchors import AnchoredHead
    from lakegate.contracts.lake.signatures import Verifies


class AnchorFlaw(StrEnum):
    """What anchors show."""

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
    """What is learnt of anchors, as their documents pass, in the order of their keys."""

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
        for each in anchor.signatures:
            if not self.verifies(each.public_key, each.value, anchor.signed_text):
                self._fault(AnchorFlaw.ANCHOR_SIGNATURE, key, f"it is not what the key {each.key[:SHORT]} signed")
                return
        names = {each.key for each in anchor.signatures}
        if self.given in names or self._trusted & names or (self.given is None and not self._trusted):
            self._trusted |= names
        elif self._trusted and names:
            listed = ", ".join(sorted(each[:SHORT] for each in names))
            self._fault(AnchorFlaw.UNKNOWN_KEY, key, f"signed by {listed}, to which no key before it leads")
        for each in anchor.signatures:
            self.keys[each.key] = self.keys.get(each.key, 0) + 1

    def _learn(self, anchor: Anchor) -> None:
        if self.days[-1:] != [anchor.date]:
            self.days.append(anchor.date)
            self._today, self._parts = set(), 0
        self._parts += 1
        for each in anchor.heads:
            self._today.add(each.chain)
            if self.only in {None, each.chain}:
                self._keep(anchor, each)
        self.is_finished = anchor.is_last
        if anchor.is_last and self._parts == anchor.part + 1:
            for chain in sorted(self.heads.keys() - self._today - self._gone):
                self._gone.add(chain)
                last = self.heads[chain][-1]
                why = f"the anchor of {anchor.date} does not name it, and that of {last.day} does"
                self._fault(AnchorFlaw.MISSING_CHAIN, chain, why)

    def _keep(self, anchor: Anchor, head: AnchoredHead) -> None:
        kept = self.heads.setdefault(head.chain, [])
        last = kept[-1] if kept else None
        if last is not None and head.height < last.height:
            why = f"its head was block {last.height} on {last.day}, and block {head.height} on {anchor.date}"
            self._fault(AnchorFlaw.TRUNCATED, head.chain, why)
        elif last is not None and head.height == last.height and head.digest != last.digest:
            why = f"block {head.height} of {last.day} is another one on {anchor.date}"
            self._fault(AnchorFlaw.REWRITTEN, head.chain, why)
        if last is None or (head.height, head.digest) != last[:2]:
            kept.append(Anchored(head.height, head.digest, anchor.date))

    def _fault(self, what: AnchorFlaw, where: str, why: str) -> None:
        self.faults.append(AnchorFault(what, where, why))


def _continues(before: Anchor, anchor: Anchor) -> bool:
    """Whether a document is the next part of an anchor, or the first one of a later day."""
    if anchor.date == before.date:
        tops = [each.heads[place].chain for each, place in ((before, -1), (anchor, 0)) if each.heads]
        is_sorted = tops == sorted(set(tops))
        return not before.is_last and anchor.part == before.part + 1 and is_sorted
    return before.is_last and anchor.part == 0


def contradictions(
    chain: str, anchored: Sequence[Anchored], height: int, digests: Mapping[int, str]
) -> Iterator[AnchorFault]:
    """What a chain of a height (-1: no block) contradicts of its anchors; `digests` has those at anchored heights."""
    if height < 0:
        yield AnchorFault(AnchorFlaw.MISSING_CHAIN, chain, f"the anchor of {anchored[-1].day} names it")
        return
    wrong = [each for each in anchored if each.height <= height and digests.get(each.height) != each.digest]
    if wrong:
        first = min(wrong)
        why = f"block {first.height} is not the one that the anchor of {first.day} names"
        yield AnchorFault(AnchorFlaw.REWRITTEN, chain, why)
    top = max(anchored)
    if top.height > height:
        why = f"it ends with block {height}, and the anchor of {top.day} names block {top.height}"
        yield AnchorFault(AnchorFlaw.TRUNCATED, chain, why)

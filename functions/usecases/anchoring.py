"""The anchor of a day: the head of every chain, in documents that nobody can change, each with the SHA-256 of the one before.

Every document is written once, if it is absent. What is there says where a pass begins, so that a pass which is interrupted, or
out of time, is continued by the next one, and two at a time write one anchor.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.anchors import (
    FOLDER,
    MAX_HEADS,
    Anchor,
    AnchoredHead,
    AnchorSignature,
    Previous,
    day_of,
    from_json,
    sha256,
    to_json,
    with_signature,
)
from lakegate.contracts.lake.records import contract_chain
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.lines import lines_of
from lakegate.functions.usecases.signing import signers
from lakegate.functions.usecases.steps import Alarm, Effect, perform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

ENOUGH: Final = 30.0
"""Seconds: with less than this left no further document is begun."""
DAYS: Final = 31
"""How many chains of unrouted deliveries, one a day, are looked for; those of earlier anchors stay in all later ones."""
NEAR: Final = 3
"""Days that are looked at one by one for the newest document; then the bucket is listed."""
BATCH: Final = 1_000
"""Heads that are read at once."""


@dataclass(slots=True)
class AnchorPass:
    """What a pass did, for metrics."""

    documents: int = 0
    """That were written."""
    heads: int = 0
    """That they name."""
    contradicted: list[str] = field(default_factory=list)
    """Chains that are not any more what the anchor before names: rewritten, cut off or gone."""
    is_complete: bool = False
    """Whether the anchor of today is whole."""


class _Kept(NamedTuple):
    """The newest document."""

    text: bytes
    anchor: Anchor


def keep_anchor_of_today(dependencies: Dependencies, most: int = MAX_HEADS) -> Steps[AnchorPass]:
    """Write what is missing of today's anchor, and before of an earlier one that was not finished.

    Raises Alarm where the newest document is no anchor, and where the stack has not the key that signed it.
    """
    done = AnchorPass()
    began = dependencies.clock.now().date()
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
        if dependencies.remaining() < ENOUGH:
            return done
        day = today if before is None or before.anchor.is_last else before.anchor.date
        if day != of_day:
            known, of_day = _chains(dependencies, stored, day), day
        anchor, wrong = _next(dependencies, before, day, known, most)
        anchor = _signed(dependencies, anchor, before)
        to, text = Address(dependencies.places.anchors, anchor.key), to_json(anchor)
        put = partial(dependencies.objects.put, to, text, absent=True, content_type="application/json")
        try:
            yield from perform(Effect.ANCHOR, put)
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
        if found := _documents(dependencies, f"{FOLDER}{last - timedelta(days=ago)}/"):
            return found
    earlier = [each for each in _documents(dependencies, FOLDER) if (day_of(each.key) or "") <= last.isoformat()]
    return [each for each in earlier if day_of(each.key) == day_of(earlier[-1].key)]


def _documents(dependencies: Dependencies, prefix: str) -> list[ObjectVersion]:
    """The first version of each document below a prefix, sorted by key; what is put over it is ignored."""
    found: dict[str, ObjectVersion] = {}
    after: str | None = None
    while True:
        page = dependencies.objects.versions(dependencies.places.anchors, prefix, after)
        found |= {each.key: each for each in page.versions}  # the newest version of a key comes first
        if page.after is None:
            return [each for key, each in sorted(found.items()) if day_of(key)]
        after = page.after


def _read(dependencies: Dependencies, document: ObjectVersion) -> _Kept:
    text = dependencies.objects.read(Address(document.bucket, document.key, document.version))
    try:
        return _Kept(text, from_json(text))
    except InputError:
        raise Alarm("anchor-unreadable", document.key) from None


def _chains(dependencies: Dependencies, stored: Sequence[ObjectVersion], day: str) -> dict[str, AnchoredHead | None]:
    """Every chain that may have a block, sorted: what is published, and what the anchor before this day names, with its head."""
    names: set[str] = set()
    for versions in _published(dependencies):
        names |= lines_of(versions) | {contract_chain(each.contract) for each in versions}
    now = dependencies.clock.now().date()
    names |= {f"{layout.UNROUTED}/{(now - timedelta(days=ago)).isoformat()}" for ago in range(DAYS)}
    if stored and day_of(stored[-1].key) == day:
        stored = _newest(dependencies, date.fromisoformat(day) - timedelta(days=1))
    before: dict[str, AnchoredHead] = {}
    for each in stored:
        before |= {head.chain: head for head in _read(dependencies, each).anchor.heads}
    return {name: before.get(name) for name in sorted(names | before.keys())}


def _published(dependencies: Dependencies) -> Iterator[list[Publication]]:
    """The versions of contracts and workflows, a page of the registry at a time."""
    for prefix in ("", "_"):
        after = ""
        while True:
            page = dependencies.registry.page(after, prefix)
            yield [version for each in page.contracts for version in each.versions]
            if not page.after:
                break
            after = page.after


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
        moved = [then for chain, then in ((each, known[each]) for each in chains) if then and now[chain] != then]
        there = dependencies.ledger.digests([(then.chain, then.height) for then in moved])
        wrong += [
            then.chain
            for then, digest in zip(moved, there, strict=True)
            if digest != then.digest or now[then.chain].height <= then.height
        ]
        place += len(chains)
    previous = Previous(before.anchor.key, sha256(before.text)) if before else None
    part, is_last = continued.part + 1 if continued else 0, place == len(names)
    return Anchor(day, part, is_last, dependencies.places.anchor_days, previous, tuple(heads)), wrong


def _signed(dependencies: Dependencies, anchor: Anchor, before: _Kept | None) -> Anchor:
    known = before.anchor.signatures[-1].key if before and before.anchor.signatures else ""
    keys = signers(dependencies.signing, known, anchor.key)
    return with_signature(anchor, (AnchorSignature(key.public_key(), key.sign(anchor.signed_text)) for key in keys))

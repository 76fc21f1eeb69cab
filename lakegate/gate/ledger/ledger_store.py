"""Blocks, records and the index of finished deliveries as rows of the ledger's table, and the commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from lakegate.admission.refusals import is_code
from lakegate.base.errors import ConditionFailed, TransactionConflict, UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import (
    MAX_INTEGER,
    OMITTED,
    UNWRITTEN,
    decode,
    encode,
    omit_default,
    select_fields,
    sha256_of,
)
from lakegate.gate.delivery.delivery_row import Decision, EnforcedVerdict, Workload, workload_row
from lakegate.gate.delivery_store import Expected, RowConditions, fenced, message_row
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, Head, Record, canonical, from_json
from lakegate.gate.ledger.signatures import KEY, Signature, SignedText, fingerprint, signed_text
from lakegate.gate.ports import UNSIGNED, Message, SigningKey, SigningKeys
from lakegate.gate.table import (
    HEAD,
    AllOf,
    CheckRow,
    Condition,
    ConditionName,
    Equals,
    Put,
    Row,
    RowAbsent,
    RowKey,
    StoredRecord,
    TableName,
    Tables,
    Write,
    all_readable,
    batched_rows,
    read_row,
)
from lakegate.verdict.verdict import LONGEST_RULE, MAX_RULES, BrokenRule

# ---- The index of finished deliveries: rows of the ledger's table beside the blocks, written in the commit ----
#
# The row of a block has the entry as an attribute of its own. For the verdict, and for each broken rule, the entry is
# written once more, below a key of its own: `<chain>#verdict#<verdict>`, `<chain>#rule#<SHA-256 of the rule>`. No chain
# ends so: the last part of a chain is `_v<number>`, or a date.


ENTRY: Final = "entry"
"""The attribute of the index in the row of a block: no part of what is digested."""


@dataclass(frozen=True, slots=True)
class FinishedDelivery:
    """One finished delivery, as the index describes it, and commands print it."""

    height: int
    at: str
    """RFC 3339, UTC: when its block was written."""
    workload: str
    file: str | None
    """The landing key: of its row, not of the index."""
    kind: str
    """Of its block: `published`, `quarantined`."""
    verdict: str
    contract_version: str | None
    """None where no route covers the key."""
    rows: int | None
    """None where nothing was measured."""
    rejected_rows: int | None
    """Rows that were kept out of the accepted data."""
    rules: tuple[BrokenRule, ...]
    """Those that failed or warned, the worst first."""
    enforced: EnforcedVerdict | None
    """The decision that `mode: enforce` would have made; None where it was the mode."""
    indexed: bool
    """False where the entry cannot be read: this one is made of the block, which does not have the rules."""
    not_current: str | None = None
    """Of an accepted one that is not part of the current state now: `recalled` or `superseded`. No entry has it."""
    anomalies: tuple[str, ...] = field(default=(), metadata={OMITTED: True})
    """What is unusual of an accepted one, in words."""
    supersedes: tuple[int, ...] = omit_default(())
    """Heights of the deliveries in whose place it came; absent for none."""
    producer: str = field(default="", metadata=UNWRITTEN)
    """The folder of the landing bucket: text of the producer's. Empty where the entry cannot be read."""


def entry_of(block: Block, workload: Workload) -> FinishedDelivery:
    """The entry of a delivery that is committed with this block."""
    decision = workload.decided
    landed = workload.landed or workload.source
    return replace(
        _of_block(block),
        rejected_rows=decision.counts.rejected_rows if decision.counts else block.rejected_rows,
        rules=broken_rules(decision),
        enforced=decision.enforced,
        anomalies=tuple(anomaly.text for anomaly in workload.anomalies),
        producer=landed.key.rpartition("/")[0] + "/",
        indexed=True,
    )


def _of_block(block: Block) -> FinishedDelivery:
    """The part of an entry that the block itself has."""
    return select_fields(FinishedDelivery, block, None, at=block.system_time, rules=(), indexed=False)


def broken_rules(decision: Decision) -> tuple[BrokenRule, ...]:
    """The broken rules, and the codes of refusals that are no rule of the contract, such as `duplicate-content`."""
    codes = dict.fromkeys(reason for reason in decision.reasons if is_code(reason))
    refused = (BrokenRule(code[:LONGEST_RULE], "fail") for code in codes)
    return (*decision.broken, *refused)[:MAX_RULES]


@dataclass(frozen=True, slots=True)
class History:
    """The finished deliveries of each dataset, written in the transaction that commits them."""

    table: Tables

    def entries(
        self, chain: str, *, rule: str = "", verdict: str = "", below: int | None = None, limit: int = 100
    ) -> tuple[FinishedDelivery, ...]:
        """At most `limit` deliveries of a dataset below a height, the newest first; strongly consistent.

        With a rule or a verdict only those that break it, or have it: a query of its own key, not a filter. At most one of both.
        """
        key = _of_rule(chain, rule) if rule else _of_verdict(chain, verdict) if verdict else chain
        rows = self.table.heights(key, below=MAX_INTEGER if below is None else below, newest=True, page=limit)
        return tuple(islice((entry for row in rows if (entry := self._entry(chain, row))), limit))

    def _entry(self, chain: str, row: Row) -> FinishedDelivery | None:
        """The entry of a row; None for a record of what a person did, and for a block that cannot be read.

        An entry is derived: one that cannot be read is that of the block, or is made of it.
        """
        with suppress(UnreadableItem):
            if row.has(ENTRY):
                return row.decoded(_written_entry)
        if row.key.name != chain:
            of_block = self.table.get(RowKey(TableName.LEDGER, chain, row.key.height))
            return self._entry(chain, of_block) if of_block else None
        for block in all_readable(self.table, [row], block_of):
            if isinstance(block, Block):
                return _of_block(block)
        return None


def index_rows(block: Block, workload: Workload) -> tuple[str, list[Row]]:
    """The entry of a delivery, for the row of its block, and the rows that list it by verdict and rule."""
    entry = entry_of(block, workload)
    document = encode(entry) | {"producer": entry.producer, "version": entry.contract_version or ""}
    document["rules"] = [list(each.values()) for each in document["rules"]]
    del document["file"], document["contract_version"], document["indexed"], document["not_current"]
    written = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    names = (_of_verdict(block.chain, entry.verdict), *(_of_rule(block.chain, rule.rule) for rule in entry.rules))
    return written, [Row(RowKey(TableName.LEDGER, name, block.height), {ENTRY: written}) for name in names]


def _of_verdict(chain: str, verdict: str) -> str:
    return f"{chain}#verdict#{verdict}"


def _of_rule(chain: str, rule: str) -> str:
    return f"{chain}#rule#{sha256_of(rule.encode(errors='surrogatepass'))}"


def _written_entry(row: Row) -> FinishedDelivery:
    """The entry as the commit wrote it; what a newer release has added is ignored."""
    document = json.loads(row.text(ENTRY))
    document["rules"] = [dict(zip(("rule", "status", "rows"), each, strict=True)) for each in document["rules"]]
    beside = {"file": None, "contract_version": document["version"] or None, "indexed": True}
    return replace(decode(FinishedDelivery, document | beside), producer=document.get("producer", ""))


# ---- The chains: blocks as the text they are digested from ----


TOKEN_LENGTH: Final = 36
"""The longest ClientRequestToken. The token of a commit is the digest of its block."""


class CommittedBlock(NamedTuple):
    """The place of the one block of a delivery."""

    chain: str
    height: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """The chains of blocks; the commit also writes the row and the message of the workload."""

    table: Tables
    signing: SigningKeys = UNSIGNED

    def head(self, chain: str) -> Head:
        """The top of the chain; strongly consistent."""
        return read_row(self.table, head_key(chain), _top) or Head(HEAD, GENESIS)

    def heads(self, chains: Sequence[str]) -> tuple[Head, ...]:
        """The tops of these chains, in their order; each strongly consistent, but not of one moment. Raises Throttled."""
        keys = [head_key(chain) for chain in chains]
        tops = dict(all_readable(self.table, batched_rows(self.table, keys), lambda row: (row.key, _top(row))))
        return tuple(tops.get(key, Head(HEAD, GENESIS)) for key in keys)

    def digests(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """The digest of the block at each chain and height, computed of what is stored; empty where there is none. As `heads`."""
        keys = [RowKey(TableName.LEDGER, *place) for place in places]
        stored = {row.key: hashlib.sha3_256(_stored(row)).hexdigest() for row in batched_rows(self.table, keys)}
        return tuple(stored.get(key, "") for key in keys)

    def blocks(self, chain: str, above: int = -1, *, strict: bool = True) -> tuple[AnyBlock, ...]:
        """The blocks above a height, in order; strongly consistent.

        Raises UnreadableItem where one is no block. Not `strict`: it is left out.
        """
        rows = self.table.heights(chain, max(above, HEAD))
        return (
            tuple(row.decoded(block_of) for row in rows) if strict else tuple(all_readable(self.table, rows, block_of))
        )

    def block(self, chain: str, height: int) -> AnyBlock | None:
        """The block at a height; None where there is none. Strongly consistent. Raises UnreadableItem."""
        return read_row(self.table, RowKey(TableName.LEDGER, chain, height), block_of)

    def newest(self, chain: str, page: int | None = None, below: int | None = None) -> Iterator[AnyBlock]:
        """The blocks from the top, or below a height, down, page by page as far as they are taken; readable ones alone."""
        return all_readable(self.table, self.table.heights(chain, below=below, newest=True, page=page), block_of)

    def texts(self, chain: str) -> Iterator[bytes]:
        """Every block as it is stored, lowest first, read page by page."""
        return (each.text for each in self.signed(chain))

    def signed(self, chain: str) -> Iterator[SignedText]:
        """Likewise, each with its signature: what `lakegate.gate.ledger.verification.verify_signed` is given."""
        return map(_signed, self.table.heights(chain))

    def key(self, chain: str) -> str:
        """The fingerprint of the key that signs the chain, empty before its first record of one; strongly consistent."""
        return read_row(self.table, _key_of_key(chain), lambda row: row.text("key")) or ""

    def committed(self, workload: str) -> CommittedBlock | None:
        """The place of the block of a delivery; None before it is committed. Strongly consistent."""
        return read_row(
            self.table, _once_key(workload), lambda row: CommittedBlock(row.text("at"), row.number("block"))
        )

    def accepted_as(self, chain: str, name: str) -> int | None:
        """The height of the last delivery that was accepted with this name (`commit`); None: none. Strongly consistent."""
        return read_row(self.table, _name_key(chain, name), lambda row: row.number("block"))

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message, name: str = "") -> None:
        """**The commit**: the writes of one transaction.

        1. the row, if it is at `expected` with the same result: no delayed worker commits a decision that was not taken;
        2. the head, if it is the block below: no two blocks have the same predecessor;
        3. the block, if its height is free: no block is ever overwritten;
        4. the row of the delivery, if there is none: a row that was set back is not committed again;
        5. the message;
        6. the delivery in the index of its dataset, by its verdict and by each rule that it breaks;
        7. of slices, the end of the delivery's turn;
        8. of a delivery that a later one can replace, its height by its name (a digest), if `accepted_as` is what it supersedes;
        9. nothing of the key of the chain, if it is that of the stack, or if there is none and the stack has none.

        Raises ConditionFailed with `state`, `head`, `key`, `name` or, where the delivery is committed, `repeated`. A delivery
        with slices also needs the turn of its dataset and ends it; without it a reason is `turn`. Where another transaction is
        on a row of this one, the reason is `head`. Raises IdempotencyMismatch. The token is of the content.

        In a stack that signs, the block is written with its signature. Raises SigningDenied.
        """
        row = workload_row(workload)
        entry, listed = index_rows(block, workload)
        own, head, stored = block_writes(block, self.signing.current, {ENTRY: entry})
        decided = AllOf(fenced(expected), Equals("result", row.text("result")))
        conditions: Iterator[RowConditions] = load_extensions("row conditions")
        turns = [write for condition in conditions for write in condition.committed(workload)]
        writes: list[Write] = [
            Put(row, decided, ConditionName.STATE),
            head,
            stored,
            _once(block),
            Put(message_row(message)),
            *map(Put, listed),
            *turns,
            *([_named(block, name)] if name else ()),
            CheckRow(_key_of_key(block.chain), self._signed_by_the_stack(), ConditionName.KEY),
        ]
        try:
            self.table.transact(writes, own[:TOKEN_LENGTH])
        except TransactionConflict:  # nothing is written; who is on the head now moves it
            raise ConditionFailed(ConditionName.HEAD) from None

    def _signed_by_the_stack(self) -> Condition:
        current = self.signing.current
        return Equals("key", fingerprint(current.public_key())) if current else RowAbsent()

    def append(self, record: Record) -> None:
        """Record and new head in one transaction.

        Conditions: the head is `record.previous` at `record.height - 1`; no chain has a record of the same event.
        Raises ConditionFailed with `head` or `event`, and TransactionConflict.

        A record that names a key is written with its signature, by the key that it replaces or, of the first, by itself; from
        then on `key` answers with it. Raises SigningDenied.
        """
        writes = record_writes(record)
        if record.kind == KEY:
            signer = self.signing.replaced if record.content["replaces"] else self.signing.current
            writes[:2] = block_writes(record, signer)[1:]
            writes.append(Put(Row(_key_of_key(record.chain), {"key": record.content["key"]})))
        self.table.transact(writes)


def _named(block: Block, name: str) -> Put:
    """The height by the name, in the place of the one that the block supersedes."""
    before = Equals("block", block.supersedes[0]) if block.supersedes else RowAbsent()
    return Put(Row(_name_key(block.chain, name), {"block": block.height}), before, ConditionName.NAME)


def record_writes(record: Record) -> list[Write]:
    """Head, record, and the row of its event: for a transaction that also writes what is recorded."""
    event = Row(RowKey(TableName.LEDGER, f"event#{record.event}"), {"at": record.chain})
    return [*block_writes(record)[1:], Put(event, RowAbsent(), ConditionName.EVENT)]


def head_key(chain: str) -> RowKey:
    """The key of the head of a chain."""
    return RowKey(TableName.LEDGER, chain, HEAD)


def block_writes(
    block: AnyBlock, signer: SigningKey | None = None, beside: dict[str, str] | None = None
) -> tuple[str, Put, Put]:
    """The digest of a block, and the writes of its head and of itself."""
    text = canonical(block)
    own = hashlib.sha3_256(text).hexdigest()
    stored: dict[str, Any] = {"block": StoredRecord(block, text.decode), "digest": own, **(beside or {})}
    if signer is not None:
        stored |= {"key": fingerprint(signer.public_key()), "signature": signer.sign(signed_text(own))}
    head = Row(head_key(block.chain), {"top": block.height, "digest": own})
    place = RowKey(TableName.LEDGER, block.chain, block.height)
    name = ConditionName.HEAD
    return own, Put(head, _follows(block), name), Put(Row(place, stored), RowAbsent(), name)


def _follows(block: AnyBlock) -> Condition:
    """The head of the chain is the block below."""
    if (block.height, block.previous) == (0, GENESIS):
        return RowAbsent()
    return AllOf(Equals("top", block.height - 1), Equals("digest", block.previous))


def _once_key(workload: str) -> RowKey:
    return RowKey(TableName.LEDGER, f"workload#{workload}")


def _once(block: Block) -> Put:
    """The row of a delivery that is committed, put if absent."""
    row = Row(_once_key(block.workload), {"at": block.chain, "block": block.height})
    return Put(row, RowAbsent(), ConditionName.REPEATED)


def _name_key(chain: str, name: str) -> RowKey:
    return RowKey(TableName.LEDGER, f"{chain}#name#{name}")


def _key_of_key(chain: str) -> RowKey:
    return RowKey(TableName.LEDGER, f"{chain}#key")


def _top(row: Row) -> Head:
    return Head(row.number("top"), row.text("digest"))


def block_of(row: Row) -> AnyBlock:
    """The block or record of a row."""
    return row.record("block", from_json)


def _stored(row: Row) -> bytes:
    """The text of a block as somebody wrote it; half a surrogate pair, which no block holds, stays what it is."""
    try:
        return row.text("block").encode(errors="surrogatepass")
    except (KeyError, TypeError):
        return b""


def _signed(row: Row) -> SignedText:
    key, signature = row.values.get("key", ""), row.values.get("signature")
    if signature is None:
        return SignedText(_stored(row))
    value = bytes(signature) if isinstance(signature, bytes) else b""
    return SignedText(_stored(row), Signature(key if isinstance(key, str) else "", value))

"""Blocks and the index of deliveries in DynamoDB, with the transaction of a commit."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.aws.delivery_items import message_item, workload_item
from lakegate.aws.delivery_tables import fenced
from lakegate.aws.dynamodb_table import BATCH, HEAD, decoded, number, text, transact
from lakegate.errors import ConditionFailed, UnreadableItem
from lakegate.extension_points import registered
from lakegate.gate.datasets.delivery_history import entry_of, entry_of_block
from lakegate.gate.delivery.delivery_row import Enforced
from lakegate.gate.ledger.blocks import GENESIS, Block, Head, digest, from_json, to_json
from lakegate.gate.ledger.signatures import KEY, Signature, SignedText, fingerprint, signed_text
from lakegate.gate.ports import UNSIGNED
from lakegate.gate.table import CommittedBlock, HistoryEntry
from lakegate.json_codec import MAX_INTEGER
from lakegate.verdict.verdict import BrokenRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.aws.delivery_tables import RowConditions
    from lakegate.aws.dynamodb_table import DynamoTable
    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.ledger.blocks import AnyBlock, Record
    from lakegate.gate.ports import Message, SigningKey, SigningKeys
    from lakegate.gate.table import Expected

# ---- The index of finished deliveries ----
# The item of a block has the entry as an attribute of its own. For the verdict, and for each broken rule, the entry is written
# once more, below a key of its own: `<chain>#verdict#<verdict>`, `<chain>#rule#<SHA-256 of the rule>`. No chain ends so: the
# last part of a chain is `_v<number>`, or a date.


ENTRY: Final = "entry"
"""The attribute of the index in the item of a block: no part of what is digested."""
LARGEST_PAGE: Final = 1_000
"""Items of one query; DynamoDB ends a page at 1 MB."""


@dataclass(frozen=True, slots=True)
class DynamoHistory:
    """History."""

    table: DynamoTable

    def entries(
        self, chain: str, *, rule: str = "", verdict: str = "", below: int | None = None, limit: int = 100
    ) -> tuple[HistoryEntry, ...]:
        """A consistent query, backwards by height."""
        key = _of_rule(chain, rule) if rule else _of_verdict(chain, verdict) if verdict else chain
        top = MAX_INTEGER if below is None else below
        found = (entry for item in self._items(key, top, limit) if (entry := self._entry(chain, item)))
        return tuple(islice(found, limit))

    def _entry(self, chain: str, item: Mapping[str, Any]) -> HistoryEntry | None:
        """The entry of an item; None for a record of what a person did, and for a block that cannot be read.

        An entry is derived: one that cannot be read is that of the block, or is made of it.
        """
        with suppress(UnreadableItem):
            if ENTRY in item:
                return decoded(item, _written_entry)
        if item["chain"]["S"] != chain:
            of_block = self.table.get({"chain": text(chain), "height": item["height"]})
            return self._entry(chain, of_block) if of_block else None
        found = self.table.readable([item], lambda each: from_json(each["block"]["S"]))
        return next((entry_of_block(each) for each in found if isinstance(each, Block)), None)

    def _items(self, key: str, below: int, limit: int) -> Iterator[Mapping[str, Any]]:
        query = self.table.client.get_paginator("query").paginate(
            TableName=self.table.name,
            ConsistentRead=True,
            ScanIndexForward=False,
            KeyConditionExpression="chain = :chain AND height < :below",
            ExpressionAttributeValues={":chain": text(key), ":below": number(below)},
            PaginationConfig={"PageSize": min(limit, LARGEST_PAGE)},
        )
        with port_errors():
            for page in query:
                yield from (each for each in page["Items"] if int(each["height"]["N"]) != HEAD)


def index_items(block: Block, workload: Workload) -> tuple[str, list[dict[str, Any]]]:
    """The entry of a delivery, for the item of its block, and the items that list it by verdict and rule."""
    entry = entry_of(block, workload)
    written = json.dumps(_plain(entry), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    keys = (_of_verdict(block.chain, entry.verdict), *(_of_rule(block.chain, each.rule) for each in entry.rules))
    return written, [{"chain": text(key), "height": number(block.height), ENTRY: text(written)} for key in keys]


def _of_verdict(chain: str, verdict: str) -> str:
    return f"{chain}#verdict#{verdict}"


def _of_rule(chain: str, rule: str) -> str:
    return f"{chain}#rule#{hashlib.sha256(rule.encode(errors='surrogatepass')).hexdigest()}"


def _plain(entry: HistoryEntry) -> dict[str, Any]:
    document = entry._asdict()
    document["rules"] = [(each.rule, each.status, each.rows) for each in entry.rules]
    document["enforced"] = asdict(entry.enforced) if entry.enforced else None
    del document["indexed"]
    return document


def _written_entry(item: Mapping[str, Any]) -> HistoryEntry:
    """The entry as the commit wrote it; what a newer release has added is ignored."""
    document = json.loads(item[ENTRY]["S"])
    rules, enforced = document.pop("rules"), document.pop("enforced")
    return HistoryEntry(
        **{name: value for name, value in document.items() if name in HistoryEntry._fields},
        rules=tuple(BrokenRule(*each) for each in rules),
        enforced=Enforced(**enforced) if enforced else None,
    )


# ---- Blocks and the commit ----


TOKEN_LENGTH = 36
"""The longest ClientRequestToken. The token of a commit is the digest of its block."""


@dataclass(frozen=True, slots=True)
class DynamoLedger:
    """Ledger; the commit also writes the row and the message of the workload."""

    table: DynamoTable
    workloads: DynamoTable
    signing: SigningKeys = UNSIGNED

    def head(self, chain: str) -> Head:
        """The head item, read consistently."""
        item = self.table.get(head_key(chain))
        return decoded(item, _top) if item else Head(HEAD, GENESIS)

    def heads(self, chains: Sequence[str]) -> tuple[Head, ...]:
        """The head items, read consistently, 100 at a time."""
        found: dict[str, Head] = {}
        for first in range(0, len(chains), BATCH):
            keys = [head_key(chain) for chain in chains[first : first + BATCH]]
            tops = self.table.readable(self.table.batch(keys), lambda item: (item["chain"]["S"], _top(item)))
            found |= dict(tops)
        return tuple(found.get(chain, Head(HEAD, GENESIS)) for chain in chains)

    def digests(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """Likewise; the attribute `digest` is whatever somebody wrote."""
        found: dict[tuple[str, int], str] = {}
        for first in range(0, len(places), BATCH):
            for item in self.table.batch([_key(*place) for place in places[first : first + BATCH]]):
                stored = item.get("block", {}).get("S", "").encode(errors="surrogatepass")
                found[item["chain"]["S"], int(item["height"]["N"])] = hashlib.sha3_256(stored).hexdigest()
        return tuple(found.get(place, "") for place in places)

    def blocks(self, chain: str, above: int = -1, *, strict: bool = True) -> tuple[AnyBlock, ...]:
        """A consistent query of the chain's heights."""
        items = self._stored(chain, above)
        return tuple(decoded(item, _block) for item in items) if strict else tuple(self.table.readable(items, _block))

    def texts(self, chain: str) -> Iterator[bytes]:
        """The same query from the bottom."""
        return (each.text for each in self.signed(chain))

    def signed(self, chain: str) -> Iterator[SignedText]:
        """Likewise; half a surrogate pair, which no block holds, stays what it is."""
        return map(_signed, self._stored(chain, HEAD))

    def key(self, chain: str) -> str:
        """The item that the record of a key writes."""
        item = self.table.get(_key_item(chain))
        return decoded(item, lambda each: str(each["key"]["S"])) if item else ""

    def _stored(self, chain: str, above: int) -> Iterator[Mapping[str, Any]]:
        query = self.table.client.get_paginator("query").paginate(
            TableName=self.table.name,
            ConsistentRead=True,
            KeyConditionExpression="chain = :chain AND height > :above",
            ExpressionAttributeValues={":chain": text(chain), ":above": number(max(above, HEAD))},
        )
        with port_errors():
            yield from (item for page in query for item in page["Items"])

    def committed(self, workload: str) -> CommittedBlock | None:
        """The item that the commit writes beside the block."""
        item = self.table.get(_once_key(workload))
        return decoded(item, lambda each: CommittedBlock(each["at"]["S"], int(each["block"]["N"]))) if item else None

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """The puts of one transaction.

        1. the row, if it is at `expected` with the same result: no delayed worker commits a decision that was not taken;
        2. the head, if it is the block below: no two blocks have the same predecessor;
        3. the block, if its height is free: no block is ever overwritten;
        4. the item of the delivery, if there is none: a row that was set back is not committed again;
        5. the message;
        6. the delivery in the index of its line, by its verdict and by each rule that it breaks;
        7. of slices, the end of the delivery's turn.
        """
        row, news = workload_item(workload), message_item(message)
        entry, listed = index_items(block, workload)
        top, stored = _block_puts(self.table.name, block, self.signing.current)
        stored["Put"]["Item"][ENTRY] = text(entry)
        writes = [
            {"Put": {"TableName": self.workloads.name, "Item": row, **_decided(expected, row)}},
            top,
            stored,
            {"Put": {"TableName": self.table.name, **_once(block)}},
            {"Put": {"TableName": self.workloads.name, "Item": news}},
            *({"Put": {"TableName": self.table.name, "Item": each}} for each in listed),
        ]
        conditions: Iterator[RowConditions] = registered("row conditions")
        turn = [write for each in conditions for write in each.committed(self.workloads.name, workload)]
        reasons = ("state", "head", "head", "repeated", *[""] * (len(writes) - 4), *["turn"] * len(turn))
        try:
            transact(self.table.client, [*writes, *turn], reasons, digest(block)[:TOKEN_LENGTH])
        except ConditionFailed as failed:
            state, head, block_at_height, *others = failed.reasons
            raise ConditionFailed(state, head or block_at_height, *filter(None, others)) from None

    def append(self, record: Record) -> None:
        """The puts of `record_puts`; of the record of a key also its signature, and the item that names the key."""
        writes = record_puts(self.table.name, record)
        if record.kind == KEY:
            signer = self.signing.replaced if record.content["replaces"] else self.signing.current
            writes[:2] = _block_puts(self.table.name, record, signer)
            named = {**_key_item(record.chain), "key": text(record.content["key"])}
            writes.append({"Put": {"TableName": self.table.name, "Item": named}})
        try:
            transact(self.table.client, writes, (*RECORD_REASONS, "")[: len(writes)])
        except ConditionFailed as failed:
            raise ConditionFailed(*record_reasons(failed.reasons[: len(RECORD_REASONS)])) from None


def _once_key(workload: str) -> dict[str, dict[str, str]]:
    return _key(f"workload#{workload}", 0)


def _once(block: Block) -> dict[str, Any]:
    """The item of a delivery that is committed, put if absent."""
    item = {**_once_key(block.workload), "at": text(block.chain), "block": number(block.height)}
    return {"Item": item, "ConditionExpression": "attribute_not_exists(chain)"}


def record_puts(table: str, record: Record) -> list[dict[str, Any]]:
    """Head, record, and the item of its event: for a transaction that also writes what is recorded."""
    event = {"chain": text(f"event#{record.event}"), "height": number(0), "at": text(record.chain)}
    put = {"TableName": table, "Item": event, "ConditionExpression": "attribute_not_exists(chain)"}
    return [*_block_puts(table, record), {"Put": put}]


RECORD_REASONS = ("head", "head", "event")
"""Of the conditions of `record_puts`."""


def record_reasons(failed: tuple[str, ...]) -> tuple[str, str]:
    """The reasons of `Ledger.append` by those of `record_puts`."""
    head, block_at_height, event = failed
    return head or block_at_height, event


def _block_puts(table: str, block: AnyBlock, signer: SigningKey | None = None) -> list[dict[str, Any]]:
    own = digest(block)
    stored: dict[str, Any] = {**_key(block.chain, block.height), "block": text(to_json(block)), "digest": text(own)}
    if signer is not None:
        stored |= {"key": text(fingerprint(signer.public_key())), "signature": {"B": signer.sign(signed_text(own))}}
    absent = {"ConditionExpression": "attribute_not_exists(chain)"}
    return [
        {"Put": {"TableName": table, "Item": _head(block), **_on(block)}},
        {"Put": {"TableName": table, "Item": stored, **absent}},
    ]


def _top(item: Mapping[str, Any]) -> Head:
    return Head(int(item["top"]["N"]), item["digest"]["S"])


def _block(item: Mapping[str, Any]) -> AnyBlock:
    return from_json(item["block"]["S"])


def _signed(item: Mapping[str, Any]) -> SignedText:
    stored = item.get("block", {}).get("S", "").encode(errors="surrogatepass")
    if "signature" not in item:
        return SignedText(stored)
    key, value = item.get("key", {}).get("S", ""), item["signature"].get("B", b"")
    return SignedText(stored, Signature(key, bytes(value)))


def head_key(chain: str) -> dict[str, dict[str, str]]:
    """The key of the head of a chain."""
    return _key(chain, HEAD)


def _key(chain: str, height: int) -> dict[str, dict[str, str]]:
    return {"chain": text(chain), "height": number(height)}


def _key_item(chain: str) -> dict[str, dict[str, str]]:
    return _key(f"{chain}#key", 0)


def _head(block: AnyBlock) -> dict[str, Any]:
    return {**head_key(block.chain), "top": number(block.height), "digest": text(digest(block))}


def _on(block: AnyBlock) -> dict[str, Any]:
    if (block.height, block.previous) == (0, GENESIS):
        return {"ConditionExpression": "attribute_not_exists(chain)"}
    return {
        "ConditionExpression": "top = :below AND digest = :previous",
        "ExpressionAttributeValues": {":below": number(block.height - 1), ":previous": text(block.previous)},
    }


def _decided(expected: Expected, row: Mapping[str, Any]) -> dict[str, Any]:
    fence = fenced(expected)
    return {
        **fence,
        "ConditionExpression": fence["ConditionExpression"] + " AND #result = :result",
        "ExpressionAttributeNames": {**fence["ExpressionAttributeNames"], "#result": "result"},
        "ExpressionAttributeValues": {**fence["ExpressionAttributeValues"], ":result": row["result"]},
    }

"""The index of finished deliveries: items of the ledger's table beside the blocks, written in the commit.

The item of a block has the entry as an attribute of its own. For the verdict, and for each broken rule, the entry is written
once more, below a key of its own: `<chain>#verdict#<verdict>`, `<chain>#rule#<SHA-256 of the rule>`. No chain ends so: the
last part of a chain is `_v<number>`, or a date.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.judge.counts import BrokenRule
from lakegate.contracts.lake.block import Block, from_json
from lakegate.contracts.lake.block_parts import MAX_INTEGER
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.adapters.tables import HEAD, decoded, number, text
from lakegate.functions.ports.errors import UnreadableItem
from lakegate.functions.ports.history import HistoryEntry, entry_of, entry_of_block
from lakegate.functions.workload import Enforced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable
    from lakegate.functions.workload import Workload

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

"""The three DynamoDB tables: keys, the one index, conditions, transactions.

=========  =======================  ================================================================================
table      key                      items
=========  =======================  ================================================================================
registry   `id`                     `route#<bucket>/<prefix>`, `version#<contract>#<version>`,
                                    `contract#<contract>`, `proposal#<contract>#<version>`
workloads  `id`                     `workload#<id>`, `message#<id>`, `content#<digest>`, `cursor#<name>`,
                                    `upload#<digest>`, `pause#<line>`, `batch#<id>`, `line#<line>`,
                                    `producer#<digest>`, `notice#<id>`, `promise#<line>`, `pull#<line>`,
                                    `revalidation#<line>`, `announcement#<id>`, `request#<digest>`,
                                    `validation#<digest>`, `callback#<digest>`, `slices#<line>`
ledger     `chain`, `height`        one item a block; the head of the chain at height -1; `event#<id>`, at height 0,
                                    for each record; `workload#<id>`, at height 0, for each delivery that has a
                                    block; the index of finished deliveries: `<chain>#verdict#<verdict>`,
                                    `<chain>#rule#<digest>`; the key that signs a chain: `<chain>#key`, at height 0
=========  =======================  ================================================================================

Index `agenda` of workloads is sparse and sharded: `shard` (`due#<n>` for open workloads, `held#<line>` for those that are
HELD, `pause#<n>` for paused lines, `message#<n>` for messages not yet sent, `line#<n>` for lines with a change to record,
`notice#<n>` and `dead-notice#<n>` for notices with a message to send and for those that were given up, `promise#<n>` for
lines with a service level to watch, `pull#<n>` for lines that are pulled, `revalidation#<n>` for lines that are measured by
schedule) and `at`. An item leaves it by losing both. It holds keys only and lags: what is found is read again by key.
"""

from __future__ import annotations

import json
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lakegate.aws.clients import port_errors
from lakegate.errors import ConditionFailed, InputError, PortError, Throttled, TransactionConflict, UnreadableItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from botocore.exceptions import ClientError
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")
SHARDS: Final = 8
"""One partition of the index takes 1,000 writes a second; a workload writes its row about a dozen times."""
HEAD: Final = -1
"""The height of the item that holds the head of a chain."""
INDEX: Final = "agenda"
ALWAYS: Final = "9999"
"""Later than any time there will be."""
FORMAT: Final = 1
"""The attribute `format` of items, 1 where they have none. What older releases must not act on has a higher one."""

DEFINITIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "registry": {
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    },
    "workloads": {
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "shard", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": "shard", "KeyType": "HASH"},
                    {"AttributeName": "at", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    },
    "ledger": {
        "KeySchema": [
            {"AttributeName": "chain", "KeyType": "HASH"},
            {"AttributeName": "height", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "chain", "AttributeType": "S"},
            {"AttributeName": "height", "AttributeType": "N"},
        ],
    },
}
"""Parameters of CreateTable for each table beside its name, as in the stack's template."""


def text(value: str) -> dict[str, str]:
    """A string as DynamoDB has it."""
    return {"S": value}


def number(value: int) -> dict[str, str]:
    """An integer as DynamoDB has it."""
    return {"N": str(value)}


def instant(at: datetime) -> str:
    """A time as sortable text: UTC, microseconds."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def shard(kind: str, name: str) -> str:
    """The partition of the index that holds an item."""
    return f"{kind}#{zlib.crc32(name.encode()) % SHARDS}"


def shards(kind: str) -> tuple[str, ...]:
    """All partitions of one kind."""
    return tuple(f"{kind}#{n}" for n in range(SHARDS))


def held_shard(line: str) -> str:
    """The partition of the index with what is held of a line."""
    return f"held#{line}"


def name_of(key: Mapping[str, Any]) -> str:
    """The key of an item as text: of the ledger's table chain and height."""
    return str(key["id"]["S"]) if "id" in key else f"{key['chain']['S']} {key['height']['N']}"


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn whatever decoding raises inside into UnreadableItem: what is stored is not what this release writes."""
    try:
        yield
    except json.JSONDecodeError:
        raise UnreadableItem(name, "it is not JSON") from None
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError, InputError):
        raise UnreadableItem(name, "it has another form than this release knows") from None


def decoded(item: Mapping[str, Any], of: Callable[[Mapping[str, Any]], T]) -> T:
    """The content of an item. Raises UnreadableItem with the key of the item."""
    name = name_of(item)
    with readable(name):
        written = int(item["format"]["N"]) if "format" in item else FORMAT
        if written <= FORMAT:
            return of(item)
    raise UnreadableItem(name, "a newer release wrote it")


def with_unknown(stored: Mapping[str, Any] | None, attribute: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """A document as it is written, with the keys that a newer release has put into the one that it replaces."""
    if stored is None:
        return dict(written)
    with readable(name_of(stored)):
        before: dict[str, Any] = dict(json.loads(stored[attribute]["S"]))
    return {**before, **written}


# ---- The base of all tables ----


ResultT = TypeVar("ResultT")
ROUNDS: Final = 3
"""Requests of the unprocessed part of a batch before the batch counts as throttled."""
BATCH: Final = 100
"""Keys of a BatchGetItem, at most."""


@dataclass(frozen=True, slots=True)
class DynamoTable:
    """One table; every read of it by key is strongly consistent."""

    client: DynamoDBClient
    name: str
    left_out: list[UnreadableItem] = field(default_factory=list, repr=False, compare=False)
    """Items that a read left out because this release cannot read them: the caller reports them."""

    def get(self, key: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The item; None where there is none."""
        with port_errors():
            return self.client.get_item(TableName=self.name, Key=key, ConsistentRead=True).get("Item")

    def readable(
        self, items: Iterable[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], ResultT]
    ) -> Iterator[ResultT]:
        """The content of items; one that cannot be read is left out, and hides none of the others."""
        for item in items:
            try:
                found = decoded(item, of)
            except UnreadableItem as refused:
                self.left_out.append(refused)
            else:
                yield found

    def batch(self, keys: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The items of at most 100 keys, in no order; unprocessed ones are requested again, `ROUNDS` times. Raises Throttled."""
        rounds = 0
        while keys:
            if rounds == ROUNDS:
                raise Throttled("BatchGetItem")
            rounds += 1
            with port_errors():
                answer = self.client.batch_get_item(RequestItems={self.name: {"Keys": keys, "ConsistentRead": True}})
            yield from answer["Responses"].get(self.name, [])
            keys = answer["UnprocessedKeys"].get(self.name, {"Keys": []})["Keys"]

    def put(self, item: Mapping[str, Any], *reasons: str, **condition: Any) -> None:  # noqa: ANN401 - as boto3 has it
        """Put one item; `reasons` is what a condition that fails is called."""
        with port_errors(*reasons):
            self.client.put_item(TableName=self.name, Item=item, **condition)

    def update(self, key: Mapping[str, Any], *reasons: str, **change: Any) -> Mapping[str, Any]:  # noqa: ANN401 - as boto3 has it
        """Update one item, and return the attributes asked for; `reasons` is what a condition that fails is called."""
        with port_errors(*reasons):
            return self.client.update_item(TableName=self.name, Key=key, **change).get("Attributes", {})

    def delete(self, key: Mapping[str, Any]) -> None:
        """Delete one item; absent is done."""
        with port_errors():
            self.client.delete_item(TableName=self.name, Key=key)

    def oldest(self, kind: str, limit: int, until: str) -> Iterator[str]:
        """Ids found in all shards of the index, the oldest first; `until` is the latest `at` that counts."""
        found = sorted(each for name in shards(kind) for each in self._in_shard(name, limit, until))
        return (name for _at, name in found[:limit])

    def _in_shard(self, name: str, limit: int, until: str) -> Iterator[tuple[str, str]]:
        with port_errors():
            answer = self.client.query(
                TableName=self.name,
                IndexName=INDEX,
                KeyConditionExpression="#shard = :shard AND #at <= :until",
                ExpressionAttributeNames={"#at": "at", "#shard": "shard"},
                ExpressionAttributeValues={":shard": text(name), ":until": text(until)},
                Limit=limit,
            )
        return ((item["at"]["S"], item["id"]["S"].partition("#")[2]) for item in answer["Items"])


def transact(client: DynamoDBClient, writes: Sequence[Any], reasons: Sequence[str], token: str | None = None) -> None:
    """All writes or none. `reasons` names, write by write, what a condition of it that fails is called.

    Without a token boto3 makes one, which covers its own retries; with one, the same content again within ten minutes
    is answered with success, and another content with IdempotencyMismatch.
    """
    given: dict[str, Any] = {"ClientRequestToken": token} if token else {}
    with port_errors():
        try:
            client.transact_write_items(TransactItems=list(writes), **given)
        except client.exceptions.TransactionCanceledException as cancelled:
            raise _cancelled(cancelled, reasons) from None


def _cancelled(error: ClientError, reasons: Sequence[str]) -> PortError:
    codes = [reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())]
    failed = [name if code == "ConditionalCheckFailed" else "" for name, code in zip(reasons, codes, strict=True)]
    if any(failed):
        return ConditionFailed(*failed)
    if "TransactionConflict" in codes:
        return TransactionConflict("TransactWriteItems")
    if {"ThrottlingError", "ProvisionedThroughputExceeded"} & set(codes):
        return Throttled("TransactWriteItems")
    return PortError(f"TransactWriteItems: {', '.join(codes)}")

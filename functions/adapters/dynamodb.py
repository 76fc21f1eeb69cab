"""What all tables share: a name, a client, and the reasons of a cancelled transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.adapters.tables import INDEX, decoded, shards, text
from lakegate.functions.ports.errors import ConditionFailed, PortError, Throttled, TransactionConflict, UnreadableItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from botocore.exceptions import ClientError
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")
ROUNDS: Final = 3
"""How often the unprocessed part of a batch is requested before the batch counts as throttled."""
BATCH: Final = 100
"""Keys of a BatchGetItem, at most."""


@dataclass(frozen=True, slots=True)
class DynamoTable:
    """One table; every read of it by key is strongly consistent."""

    client: DynamoDBClient
    name: str
    left_out: list[UnreadableItem] = field(default_factory=list, repr=False, compare=False)
    """What a read of several items left out because this release cannot read it: the caller reports it."""

    def get(self, key: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The item; None where there is none."""
        with port_errors():
            return self.client.get_item(TableName=self.name, Key=key, ConsistentRead=True).get("Item")

    def readable(self, items: Iterable[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
        """What items contain; one that cannot be read is left out, and hides none of the others."""
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

    def update(self, key: Mapping[str, Any], *reasons: str, **change: Any) -> None:  # noqa: ANN401 - as boto3 has it
        """Update one item; `reasons` is what a condition that fails is called."""
        with port_errors(*reasons):
            self.client.update_item(TableName=self.name, Key=key, **change)

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

"""The port of the tables (`lakegate.gate.table`) on DynamoDB: conditions become expressions, values DynamoDB's types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import ConditionFailed, PortError, Throttled, TransactionConflict, UnreadableItem
from lakegate.gate.table import (
    ALWAYS,
    HEAD,
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    CheckRow,
    Condition,
    Delete,
    Equals,
    Has,
    HasLength,
    Lacks,
    Put,
    Row,
    RowAbsent,
    RowExists,
    RowKey,
    Shorter,
    StoredRecord,
    TableName,
    Update,
    Without,
    Write,
    shards,
)

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_dynamodb import DynamoDBClient


INDEX: Final = "agenda"

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
ROUNDS: Final = 3
"""The number of times that the unprocessed part of a batch is requested before the batch counts as throttled."""
LARGEST_PAGE: Final = 1_000
"""Items of one query; DynamoDB ends a page at 1 MB."""
HIGHEST: Final = 2**53
"""Above every height."""


# ---- Values, keys and expressions ----


def typed(value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a row holds
    """A value as DynamoDB has it."""
    match value:
        case str():
            return {"S": value}
        case StoredRecord():
            return {"S": value.write()}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case dict():
            return {"M": {name: typed(each) for name, each in value.items()}}
        case _:
            return {"L": [typed(each) for each in value]}


def plain(value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - likewise
    """A value of DynamoDB; one of a type that no release writes stays as it is."""
    ((kind, content),) = value.items()
    match kind:
        case "S" | "B":
            return content
        case "N":
            return int(content) if content.lstrip("-").isdigit() else value
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "L":
            return [plain(each) for each in content]
        case _:
            return value


def key_attributes(key: RowKey) -> dict[str, dict[str, str]]:
    """The key of an item."""
    if key.table is TableName.LEDGER:
        return {"chain": {"S": key.name}, "height": {"N": str(key.height)}}
    return {"id": {"S": key.name}}


def item_of(row: Row) -> dict[str, Any]:
    """A row as DynamoDB has it."""
    return key_attributes(row.key) | {name: typed(each) for name, each in row.values.items()}


def row_of(table: TableName, item: Mapping[str, Any]) -> Row:
    """An item as a row."""
    values = {name: plain(each) for name, each in item.items()}
    if table is TableName.LEDGER:
        return Row(RowKey(table, values.pop("chain"), values.pop("height")), values)
    return Row(RowKey(table, values.pop("id")), values)


class _Expressions:
    """The expressions of one write, with the attributes and values that they name."""

    def __init__(self, key: RowKey) -> None:
        self._key = "chain" if key.table is TableName.LEDGER else "id"
        self._values: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._numbers = count()

    def name(self, attribute: str) -> str:
        self._names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, value: Any) -> str:  # noqa: ANN401 - whatever a row holds
        placeholder = f":{next(self._numbers)}"
        self._values[placeholder] = typed(value)
        return placeholder

    def condition(self, condition: Condition) -> str:  # noqa: C901, PLR0911 - a case for each kind
        match condition:
            case RowAbsent():
                return f"attribute_not_exists({self.name(self._key)})"
            case RowExists():
                return f"attribute_exists({self.name(self._key)})"
            case Has(name):
                return f"attribute_exists({self.name(name)})"
            case Lacks(name):
                return f"attribute_not_exists({self.name(name)})"
            case Equals(name, value):
                return f"{self.name(name)} = {self.value(value)}"
            case Below(name, limit):
                return f"{self.name(name)} < {self.name(limit) if isinstance(limit, str) else self.value(limit)}"
            case AtLeast(name, number):
                return f"{self.name(name)} >= {self.value(number)}"
            case Shorter(name, limit):
                return f"size({self.name(name)}) < {self.name(limit)}"
            case HasLength(name, members):
                return f"size({self.name(name)}) = {self.value(members)}"
            case Without(name, member):
                return f"NOT contains({self.name(name)}, {self.value(member)})"
            case AllOf(of):
                return " AND ".join(f"({self.condition(each)})" for each in of)
            case AnyOf(of):
                return " OR ".join(f"({self.condition(each)})" for each in of)

    def change(self, update: Update) -> str:
        sets = [
            *(f"{self.name(name)} = {self.value(value)}" for name, value in update.sets.items()),
            *(
                f"{self.name(name)} = if_not_exists({self.name(name)}, {self.value(value)})"
                for name, value in update.defaults.items()
            ),
            *(
                f"{self.name(name)} = if_not_exists({self.name(name)}, {self.value(0)}) + {self.value(value)}"
                for name, value in update.adds.items()
            ),
            *(
                f"{self.name(name)} = list_append(if_not_exists({self.name(name)}, {self.value([])}), {self.value([one])})"
                for name, one in update.appends.items()
            ),
        ]
        removed = ", ".join(map(self.name, update.removes))
        return " ".join([f"SET {', '.join(sets)}"] * bool(sets) + [f"REMOVE {removed}"] * bool(removed))

    def all(self) -> dict[str, Any]:
        """The parameters that explain the others; DynamoDB refuses empty ones."""
        names = {"ExpressionAttributeNames": self._names} if self._names else {}
        return names | ({"ExpressionAttributeValues": self._values} if self._values else {})


# ---- The port ----


@dataclass(frozen=True, slots=True)
class DynamoTable:
    """Table."""

    client: DynamoDBClient
    names: Mapping[TableName, str]
    """Of the stack's tables."""
    left_out: list[UnreadableItem] = field(default_factory=list, repr=False, compare=False)

    def get(self, key: RowKey) -> Row | None:
        """GetItem."""
        name = self.names[key.table]
        with port_errors():
            item = self.client.get_item(TableName=name, Key=key_attributes(key), ConsistentRead=True).get("Item")
        return None if item is None else row_of(key.table, item)

    def batch(self, keys: Sequence[RowKey]) -> Iterator[Row]:
        """BatchGetItem; unprocessed keys are requested again, `ROUNDS` times."""
        if not keys:
            return
        table = keys[0].table
        name, wanted = self.names[table], [key_attributes(key) for key in keys]
        for _ in range(ROUNDS):
            with port_errors():
                response = self.client.batch_get_item(RequestItems={name: {"Keys": wanted, "ConsistentRead": True}})
            yield from (row_of(table, item) for item in response["Responses"].get(name, []))
            wanted = response["UnprocessedKeys"].get(name, {"Keys": []})["Keys"]  # type: ignore[assignment] # as sent
            if not wanted:
                return
        raise Throttled("BatchGetItem")

    def write(self, write: Put | Update | Delete) -> None:
        """PutItem, UpdateItem or DeleteItem."""
        ((kind, parameters),) = self._request(write).items()
        with port_errors(write.reason):
            if kind == "Put":
                self.client.put_item(**parameters)
            elif kind == "Update":
                self.client.update_item(**parameters)
            else:
                self.client.delete_item(**parameters)

    def update(self, update: Update) -> Row:
        """UpdateItem."""
        with port_errors(update.reason):
            response = self.client.update_item(**self._request(update)["Update"], ReturnValues="UPDATED_NEW")
        return Row(update.key, {name: plain(each) for name, each in response["Attributes"].items()})

    def transact(self, writes: Sequence[Write], token: str = "") -> None:
        """TransactWriteItems. Without a token boto3 makes one, which covers its own retries."""
        given: dict[str, Any] = {"ClientRequestToken": token} if token else {}
        with port_errors():
            try:
                self.client.transact_write_items(TransactItems=[self._request(write) for write in writes], **given)  # type: ignore[misc] # one of four kinds
            except self.client.exceptions.TransactionCanceledException as cancelled:
                raise _cancelled(cancelled, [write.reason for write in writes]) from None

    def due(self, kind: str, limit: int, until: str = ALWAYS) -> tuple[str, ...]:
        """A query for each shard, merged."""
        found = sorted(each for name in shards(kind) for each in self._in_shard(name, limit, until))
        return tuple(name for _at, name in found[:limit])

    def listed(self, shard: str, limit: int) -> tuple[str, ...]:
        """A query, page by page."""
        query = self.client.get_paginator("query").paginate(
            TableName=self.names[TableName.WORKLOADS],
            IndexName=INDEX,
            KeyConditionExpression="#shard = :shard",
            ExpressionAttributeNames={"#shard": "shard"},
            ExpressionAttributeValues={":shard": typed(shard)},
            PaginationConfig={"MaxItems": limit},
        )
        with port_errors():
            return tuple(item["id"]["S"].partition("#")[2] for page in query for item in page["Items"])

    def latest(self, shard: str, limit: int, since: str, until: str) -> tuple[tuple[str, str], ...]:
        """A query, page by page."""
        if until < since:  # DynamoDB refuses an empty interval
            return ()
        query = self.client.get_paginator("query").paginate(
            TableName=self.names[TableName.WORKLOADS],
            IndexName=INDEX,
            ScanIndexForward=False,
            KeyConditionExpression="#shard = :shard AND #at BETWEEN :since AND :until",
            ExpressionAttributeNames={"#at": "at", "#shard": "shard"},
            ExpressionAttributeValues={":shard": typed(shard), ":since": typed(since), ":until": typed(until)},
            PaginationConfig={"MaxItems": limit},
        )
        with port_errors():
            items = [item for page in query for item in page["Items"]]
        return tuple((item["at"]["S"], item["id"]["S"].partition("#")[2]) for item in items)

    def heights(
        self, chain: str, above: int = HEAD, below: int | None = None, *, newest: bool = False, page: int | None = None
    ) -> Iterator[Row]:
        """A query, page by page."""
        first, last = above + 1, HIGHEST if below is None else below - 1
        if last < first:  # DynamoDB refuses an empty interval
            return
        query = self.client.get_paginator("query").paginate(
            TableName=self.names[TableName.LEDGER],
            ConsistentRead=True,
            ScanIndexForward=not newest,
            KeyConditionExpression="chain = :chain AND height BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":chain": typed(chain),
                ":first": typed(first),
                ":last": typed(last),
            },
            PaginationConfig={} if page is None else {"PageSize": min(page, LARGEST_PAGE)},
        )
        with port_errors():
            yield from (row_of(TableName.LEDGER, item) for page in query for item in page["Items"])

    def scan(self, table: TableName) -> Iterator[Row]:
        """A scan, page by page."""
        scan = self.client.get_paginator("scan").paginate(TableName=self.names[table], ConsistentRead=True)
        with port_errors():
            yield from (row_of(table, item) for page in scan for item in page["Items"])

    def page(self, table: TableName, kind: str, after: str, items: int) -> tuple[tuple[Row, ...], str]:
        """One Scan."""
        start: Any = {"ExclusiveStartKey": {"id": {"S": after}}} if after else {}
        with port_errors():
            response = self.client.scan(
                TableName=self.names[table],
                ConsistentRead=True,
                Limit=items,
                FilterExpression="begins_with(id, :kind)",
                ExpressionAttributeValues={":kind": typed(f"{kind}#")},
                **start,
            )
        following = response.get("LastEvaluatedKey", {}).get("id", {}).get("S", "")
        return tuple(row_of(table, item) for item in response["Items"]), following

    def _in_shard(self, name: str, limit: int, until: str) -> Iterator[tuple[str, str]]:
        with port_errors():
            response = self.client.query(
                TableName=self.names[TableName.WORKLOADS],
                IndexName=INDEX,
                KeyConditionExpression="#shard = :shard AND #at <= :until",
                ExpressionAttributeNames={"#at": "at", "#shard": "shard"},
                ExpressionAttributeValues={":shard": typed(name), ":until": typed(until)},
                Limit=limit,
            )
        return ((item["at"]["S"], item["id"]["S"].partition("#")[2]) for item in response["Items"])

    def _request(self, write: Write) -> dict[str, Any]:
        """A write as TransactWriteItems has it."""
        expressions = _Expressions(write.key)
        parameters: dict[str, Any] = {"TableName": self.names[write.key.table]}
        key = key_attributes(write.key)
        match write:
            case Put(row):
                changed: dict[str, Any]
                kind, changed = "Put", {"Item": item_of(row)}
            case Update():
                kind, changed = "Update", {"Key": key, "UpdateExpression": expressions.change(write)}
            case Delete():
                kind, changed = "Delete", {"Key": key}
            case CheckRow():
                kind, changed = "ConditionCheck", {"Key": key}
        if write.if_ is not None:
            changed["ConditionExpression"] = expressions.condition(write.if_)
        return {kind: parameters | changed | expressions.all()}


def _cancelled(error: ClientError, reasons: Sequence[str]) -> PortError:
    codes = [reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())]
    failed = [name for name, code in zip(reasons, codes, strict=True) if code == "ConditionalCheckFailed"]
    if failed:
        return ConditionFailed(*failed)
    if "TransactionConflict" in codes:
        return TransactionConflict("TransactWriteItems")
    if {"ThrottlingError", "ProvisionedThroughputExceeded"} & set(codes):
        return Throttled("TransactWriteItems")
    return PortError(f"TransactWriteItems: {', '.join(codes)}")

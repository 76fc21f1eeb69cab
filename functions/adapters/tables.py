"""The three DynamoDB tables: keys, the one index, and the attributes that conditions use.

=========  =======================  ================================================================================
table      key                      items
=========  =======================  ================================================================================
registry   `id`                     `route#<bucket>/<prefix>`, `version#<contract>#<version>`,
                                    `contract#<contract>`, `proposal#<contract>#<version>`
workloads  `id`                     `workload#<id>`, `message#<id>`, `content#<digest>`, `cursor#<name>`,
                                    `upload#<digest>`, `pause#<line>`, `batch#<id>`, `line#<line>`, `producer#<digest>`,
                                    `notice#<id>`, `promise#<line>`, `pull#<line>`, `revalidation#<line>`,
                                    `announcement#<id>`, `request#<digest>`, `validation#<digest>`,
                                    `callback#<digest>`, `slices#<line>`
ledger     `chain`, `height`        one item a block; the head of the chain at height -1; `event#<id>`, at height 0, for
                                    each record; `workload#<id>`, at height 0, for each delivery that has a block; the
                                    index of finished deliveries (history.py):
                                    `<chain>#verdict#<verdict>`, `<chain>#rule#<digest>`; the key that signs
                                    a chain: `<chain>#key`, at height 0
=========  =======================  ================================================================================

Index `agenda` of workloads is sparse and sharded: `shard` (`due#<n>` for open workloads, `held#<line>` for those that are
HELD, `pause#<n>` for paused lines, `message#<n>` for messages not yet sent, `line#<n>` for lines with a change to record,
`notice#<n>` and `dead-notice#<n>` for notices with a message to send and for those that were given up, `promise#<n>` for
lines with a promise to keep, `pull#<n>` for lines that are pulled, `revalidation#<n>` for lines
that are measured by schedule) and `at`. An item leaves it by losing both. It holds
keys only and lags: what is found is read again by key.
"""

from __future__ import annotations

import json
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lakegate.contracts.errors import InputError
from lakegate.functions.ports.errors import UnreadableItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
    """What an item contains. Raises UnreadableItem with the key of the item."""
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

"""Buckets, tables and the keys that encrypt them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.probes.causes import CAUSES
from lakegate.cli.probes.reading import code_of
from lakegate.functions.adapters.tables import INDEX
from lakegate.functions.ports.errors import NotFound, PortError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack

BUCKETS: Final = ("LandingBucket", "LakeBucket")
TABLES: Final = ("RegistryTable", "WorkloadsTable", "LedgerTable")
USABLE: Final = frozenset({"ACTIVE", "UPDATING"})


def buckets(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Both buckets are there, belong to this account, and are versioned."""
    for part in BUCKETS:
        bucket = examined.stack.output(part)
        try:
            versioning = examined.ask(
                "s3", "get_bucket_versioning", Bucket=bucket, ExpectedBucketOwner=examined.stack.account
            )
        except PortError as error:
            if not isinstance(error, NotFound) and code_of(error) != "NoSuchBucket":
                raise
            yield CAUSES["bucket-missing"].found(bucket=bucket)
            continue
        if versioning.get("Status") != "Enabled":
            yield CAUSES["versioning-off"].found(bucket=bucket)


def tables(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """All tables can be used, and the index of open workloads too."""
    for part in TABLES:
        name = examined.stack.output(part)
        try:
            table = examined.ask("dynamodb", "describe_table", TableName=name)["Table"]
        except NotFound:
            yield CAUSES["table-missing"].found(table=name)
            continue
        if table["TableStatus"] not in USABLE:
            yield CAUSES["table-unusable"].found(table=name, state=table["TableStatus"])
        if part == "WorkloadsTable" and not _has_index(table):
            yield CAUSES["index-missing"].found(table=name, stack=examined.stack.name)


def recovery(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Every table can be restored to a point in time."""
    for part in TABLES:
        name = examined.stack.output(part)
        answer = examined.ask("dynamodb", "describe_continuous_backups", TableName=name)
        described = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        if described.get("PointInTimeRecoveryStatus") != "ENABLED":
            yield CAUSES["recovery-off"].found(table=name)


def keys(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The KMS keys of buckets and tables can be used, and the one that signs the ledger."""
    for of, key in _keys(examined):
        if (state := _state(examined, key)) != "Enabled":
            yield CAUSES["key-unusable"].found(key=key, of=of, state=state)
    signing = examined.settings().signing_key
    if signing and (state := _state(examined, signing)) != "Enabled":
        yield CAUSES["signing-key-unusable"].found(key=signing, state=state)


def _state(examined: ExaminedStack, key: str) -> str:
    try:
        return str(examined.ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyState"])
    except PortError as error:
        if code_of(error) != "NotFoundException":
            raise
        return "NotFound"


def _keys(examined: ExaminedStack) -> Iterator[tuple[str, str]]:
    for part in BUCKETS:
        bucket = examined.stack.output(part)
        answer = examined.ask("s3", "get_bucket_encryption", Bucket=bucket)
        for rule in answer["ServerSideEncryptionConfiguration"]["Rules"]:
            key = rule.get("ApplyServerSideEncryptionByDefault", {}).get("KMSMasterKeyID")
            if key:
                yield bucket, key
    for part in TABLES:
        name = examined.stack.output(part)
        table = examined.ask("dynamodb", "describe_table", TableName=name)["Table"]
        key = table.get("SSEDescription", {}).get("KMSMasterKeyArn")
        if key:
            yield name, key


def _has_index(table: dict[str, Any]) -> bool:
    # the embedded AWS states no status, AWS always does
    indexes = {each["IndexName"]: each.get("IndexStatus", "ACTIVE") for each in table.get("GlobalSecondaryIndexes", ())}
    return indexes.get(INDEX) in USABLE

"""The commands of docs/restore.md restore tables and objects: they are run on an emulator, in the order of the page."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import boto3

from lakegate.gate.delivery.intake import intake
from lakegate.gate.effects import run
from lakegate.gate.sweep import sweep
from tests.fakes.quick_moto import REGION
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING
from tests.unit.cli.stack.test_unreadable_items import AheadClock
from tests.unit.docs.page_commands import aws, commands, sections

PAGE = sections("restore.md")
FUNCTIONS = {f"{name}Function": "intake" for name in ("Intake", "Completion", "Sweep", "Notify")}
NAMES = {**FUNCTIONS, "LakeBucket": LAKE, "WorkloadsTable": "workloads", "TIME": "2026-11-21T12:00:00Z"}
AWS_OF_TABLES, SETTINGS = commands(PAGE["A damaged table"])[:5], commands(PAGE["A damaged table"])[5:]


def client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)  # type: ignore[call-overload] # any service


def items(lakegate: Lakegate, table: str) -> list[str]:
    return sorted(
        str(item) for item in lakegate.clients["dynamodb"].scan(TableName=table, ConsistentRead=True)["Items"]
    )


def rows(lakegate: Lakegate, table: str) -> list[dict[str, Any]]:
    return list(lakegate.clients["dynamodb"].scan(TableName=table, ConsistentRead=True)["Items"])


def replace_rows(lakegate: Lakegate, table: str, restored: list[dict[str, Any]]) -> None:
    """What a restore to an earlier time does."""
    for item in rows(lakegate, table):
        lakegate.clients["dynamodb"].delete_item(TableName=table, Key={"id": item["id"]})
    for item in restored:
        lakegate.clients["dynamodb"].put_item(TableName=table, Item=item)


def test_a_table_is_restored_under_its_own_name(lakegate: Lakegate) -> None:
    """Restored beside the old one and then in its place, every table has its items, and the stack works with it."""
    lakegate.routed()
    delivered = lakegate.delivered()
    before = {table: items(lakegate, table) for table in ("registry", "workloads", "ledger")}
    for table in before:
        names = {**NAMES, "TABLE": table}
        for line in AWS_OF_TABLES:
            answer = aws(line, names, client)
            names["BACKUP"] = answer.get("BackupDetails", {}).get("BackupArn", names.get("BACKUP", ""))
        for line in SETTINGS:
            aws(line, names, client)

    assert {table: items(lakegate, table) for table in before} == before
    assert lakegate("verify", "orders_v1", "--objects").exit_code == 0
    assert lakegate.json("status", delivered)["state"] == "PUBLISHED"
    assert lakegate.delivered(body=b"id,amount\nnew,1\n", name="new.csv")
    recovery = lakegate.clients["dynamodb"].describe_continuous_backups(TableName="ledger")
    described = recovery["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert described["PointInTimeRecoveryStatus"] == "ENABLED"


def test_tables_of_three_moments_commit_nothing_twice(lakegate: Lakegate) -> None:
    """Drill: registry, workloads and ledger are of different times; every delivery has its one block, and the next is judged."""
    lakegate.routed()
    of_registry = rows(lakegate, "registry")
    done, open_one = lakegate.delivered(), lakegate.upload(body=b"id,amount\nb,1\n", name="open.csv")
    lakegate.intake("orders/open.csv")
    of_workloads = rows(lakegate, "workloads")
    lakegate.answer(open_one)
    late = lakegate.delivered(body=b"id,amount\nc,1\n", name="late.csv")
    runs, ledger = len(lakegate.jobs.runs), items(lakegate, "ledger")
    replace_rows(lakegate, "registry", of_registry)
    replace_rows(lakegate, "workloads", of_workloads)
    there = dataclasses.replace(lakegate.dependencies, clock=AheadClock())
    swept = [run(sweep(there), there.clock).failures for _ in range(2)]
    run(intake(there, LANDING, "orders/late.csv"), there.clock)

    assert (swept, len(lakegate.jobs.runs)) == ([[], []], runs)
    assert items(lakegate, "ledger") == ledger
    assert [json.loads(lakegate.ok("status", each, "--json"))["state"] for each in (done, open_one)] == [
        "PUBLISHED"
    ] * 2
    assert sum(f"workload#{late}" in each for each in ledger) == 1
    assert lakegate("verify", "orders_v1", "--objects").exit_code == 0
    assert lakegate.delivered(body=b"id,amount\nd,1\n", name="next.csv")


def test_an_item_is_copied_from_a_restored_table(lakegate: Lakegate) -> None:
    """One damaged row is replaced by that of the restored table, while the stack works."""
    lakegate.routed()
    workload = lakegate.delivered()
    before, key = items(lakegate, "workloads"), {"id": {"S": f"workload#{workload}"}}
    names = {**NAMES, "TABLE": "workloads", "KEY": json.dumps(key)}
    restore, get, put = commands(PAGE["An item that cannot be read"])
    aws(restore, names, client)
    item = lakegate.clients["dynamodb"].get_item(TableName="workloads", ConsistentRead=True, Key=key)["Item"]
    lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item | {"row": {"S": "{"}})
    damaged = lakegate("status").stderr
    aws(put, names | {"ITEM": json.dumps(aws(get, names, client)["Item"])}, client)

    assert f"workload#{workload}" in damaged
    assert items(lakegate, "workloads") == before


def test_a_deleted_or_overwritten_object_is_restored(lakegate: Lakegate) -> None:
    """Without the newer version or the delete marker the judged version is current, and the ledger verifies again."""
    lakegate.routed()
    lakegate.delivered()
    s3 = lakegate.clients["s3"]
    versions = (
        s3.get_paginator("list_object_versions")
        .paginate(Bucket=LAKE, Prefix="accepted/")
        .build_full_result()["Versions"]
    )
    key = next(each["Key"] for each in versions if "workload=" in each["Key"])
    damages = (s3.delete_object(Bucket=LAKE, Key=key), s3.put_object(Bucket=LAKE, Key=key, Body=b"other"))
    damaged = lakegate("verify", "orders_v1", "--objects").exit_code
    for damage in reversed(damages):
        for line in commands(PAGE["An object that was overwritten or deleted"]):
            aws(line, {**NAMES, "KEY": key, "MARKER": damage["VersionId"]}, client)

    assert (damaged, lakegate("verify", "orders_v1", "--objects").exit_code) == (1, 0)


def test_functions_are_stopped_and_started_again(lakegate: Lakegate) -> None:
    """Every function is stopped before, and none has a reservation afterwards."""
    stopping = commands(PAGE["Before anything else"])
    starting = [line for line in commands(PAGE["Afterwards"]) if line.startswith("aws ")]
    stopped = []
    for line in (*stopping, *starting):
        aws(line, NAMES, client)
        found = lakegate.clients["lambda"].get_function_concurrency(FunctionName="intake")
        stopped.append(found.get("ReservedConcurrentExecutions"))

    assert stopped == [0] * 4 + [None] * 4
    assert {line.split("$")[1].split()[0] for line in stopping} == set(FUNCTIONS)
    assert {line.split("$")[1] for line in starting} == set(FUNCTIONS)

"""Faults of deliveries and contracts, each injected into a stack in order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lakegate.aws.dynamodb_table import item_of
from lakegate.gate.delivery.delivery_row import workload_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.table import instant
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING
from tests.unit.features.doctor.causes_of_stack import Case, log
from tests.unit.features.doctor.stack_in_order import World

KEY = "orders/day.csv"
LATER = timedelta(minutes=30)


def delivered(world: World) -> str:
    """A delivery whose job runs."""
    return world.lakegate.begin(_running)


def _running(lakegate: Lakegate) -> str:
    workload = lakegate.upload()
    lakegate.intake(KEY)
    return workload


def failed(
    cause: str = "run-failed", state: str = "FAILED", details: str = "", minutes: float = 0
) -> Callable[[World], object]:
    """A delivery that FAILED, and what EMR Serverless knows of its last run."""

    def inject(world: World) -> None:
        workload = delivered(world)
        world.run(state, details, minutes)
        at = world.now().isoformat()
        one = {"number": 3, "run": "run", "cause": cause, "at": at}
        world.lakegate.overwrite(workload, lambda row: row.update(state=State.FAILED, attempt=3, failed=[one]))

    return inject


def failed_and_deleted(world: World) -> None:
    """Somebody has deleted what landed."""
    failed()(world)
    landed = (
        world.lakegate.clients["s3"]
        .get_paginator("list_object_versions")
        .paginate(Bucket=LANDING)
        .build_full_result()["Versions"]
    )
    for each in landed:
        world.lakegate.clients["s3"].delete_object(Bucket=LANDING, Key=each["Key"], VersionId=each["VersionId"])


def running(state: str, minutes: float = 0) -> Callable[[World], object]:
    """A delivery that is validated, seen half an hour later."""

    def inject(world: World) -> None:
        delivered(world)
        world.ahead = LATER
        world.run(state, minutes=minutes)

    return inject


def forgotten(world: World) -> None:
    delivered(world)
    world.ahead = LATER
    world.refuse("emr-serverless", "get_job_run", "ResourceNotFoundException", 404)


def hung(world: World) -> None:
    delivered(world)
    world.ahead = timedelta(days=3)
    world.run("RUNNING")


def received(world: World, state: State = State.STAGED) -> str:
    """A delivery whose worker was killed before the job, half an hour ago."""
    workload = delivered(world)
    row = world.lakegate.dependencies.workloads.get(workload)
    moved = row._replace(state=state, due_at=world.now())
    world.lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item_of(workload_row(moved)))
    world.ahead = LATER
    return workload


def batched(world: World) -> None:
    """A delivery that was put into a batch."""
    workload = delivered(world)
    row = world.lakegate.dependencies.workloads.get(workload)
    later = world.now() + LATER
    moved = row._replace(state=State.SUBMITTING, batch="b" * 64, not_before=later, due_at=later, run="")
    world.lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item_of(workload_row(moved)))


def starts_later(world: World) -> None:
    """A delivery of a burst, whose run is started later."""
    workload = delivered(world)
    row = world.lakegate.dependencies.workloads.get(workload)
    later = world.now() + LATER
    moved = row._replace(state=State.SUBMITTING, not_before=later, due_at=later, run="")
    world.lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item_of(workload_row(moved)))


def waiting(world: World, hours: float = 20) -> None:
    """A delivery that a person is asked about for so long."""
    workload = delivered(world)
    row = world.lakegate.dependencies.workloads.get(workload)
    end = world.now() + timedelta(hours=hours)
    moved = row._replace(state=State.AWAITING, deadline=end, due_at=end)
    world.lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item_of(workload_row(moved)))


def unanswered(world: World) -> None:
    """The time for an answer is over, and nothing has noticed."""
    waiting(world, 0)
    world.ahead = LATER


def lost(world: World) -> None:
    workload = received(world)
    row = world.lakegate.dependencies.workloads.get(workload)
    for source in (row.source, row.staged):
        assert source is not None
        world.lakegate.clients["s3"].delete_object(Bucket=source.bucket, Key=source.key, VersionId=source.version)


def unplanned(world: World) -> None:
    for each in (
        world.lakegate.clients["s3"]
        .get_paginator("list_objects_v2")
        .paginate(Bucket=LAKE, Prefix="plans/")
        .build_full_result()["Contents"]
    ):
        world.lakegate.clients["s3"].delete_object(Bucket=LAKE, Key=each["Key"])


def unplanned_delivery(world: World) -> None:
    received(world)
    unplanned(world)


def emptied(world: World) -> None:
    table = world.lakegate.clients["dynamodb"]
    for item in table.scan(TableName="registry", ConsistentRead=True)["Items"]:
        table.delete_item(TableName="registry", Key={"id": item["id"]})


def unrouted(world: World) -> None:
    world.lakegate("upload", world.lakegate.file(name="x.csv"), "--to", "nobody/")
    world.lakegate.intake("nobody/x.csv")


def unrouted_and_ignored(world: World) -> None:
    world.lakegate("upload", world.lakegate.file(name="x.csv"), "--to", "nobody/")
    world.settings["LAKEGATE_UNROUTED"] = "ignore"


def unrouted_without_contracts(world: World) -> None:
    unrouted(world)
    emptied(world)


def with_status(status: str) -> Callable[[World], object]:
    """A delivery below the route of a version with this status."""

    def inject(world: World) -> None:
        table = world.lakegate.clients["dynamodb"]
        for item in table.scan(TableName="registry", ConsistentRead=True)["Items"]:
            listed = {"content": _replaced(item, "active", status)} if "content" in item else {"status": {"S": status}}
            table.put_item(TableName="registry", Item=item | listed)
        delivered(world)

    return inject


def untaken(world: World) -> None:
    world.lakegate.upload()
    world.ahead = LATER


def paused(world: World) -> None:
    world.lakegate.ok("pause", "orders", "--reason", "no {deliveries} on Sunday")


def paused_for_days(world: World) -> None:
    paused(world)
    table = world.lakegate.clients["dynamodb"]
    table.update_item(
        TableName="workloads",
        Key={"id": {"S": "pause#shop/orders_v1"}},
        UpdateExpression="SET #since = :since",
        ExpressionAttributeNames={"#since": "since"},
        ExpressionAttributeValues={":since": {"S": instant(world.now() - timedelta(days=3, hours=1))}},
    )


def paused_delivery(world: World) -> None:
    paused(world)
    world.lakegate.upload()
    world.lakegate.intake()


def waiting_part(world: World) -> None:
    """The contract takes folders that `_SUCCESS` completes, and an object waits for it."""
    untaken(world)
    table, store = world.lakegate.clients["dynamodb"], world.lakegate.clients["s3"]
    for item in table.scan(TableName="registry", ConsistentRead=True)["Items"]:
        if item["id"]["S"].startswith("route#"):
            plan = json.loads(store.get_object(Bucket=LAKE, Key=f"plans/{item['plan']['S']}.json")["Body"].read())
            plan["policy"]["delivery"] = "success"
            body = json.dumps(plan).encode()
            digest = hashlib.sha256(body).hexdigest()
            store.put_object(Bucket=LAKE, Key=f"plans/{digest}.json", Body=body)
            _exchange_plan(world, item["plan"]["S"], digest)


def _exchange_plan(world: World, old: str, new: str) -> None:
    """In every item of the registry."""
    table = world.lakegate.clients["dynamodb"]
    for item in table.scan(TableName="registry", ConsistentRead=True)["Items"]:
        changed = {name: _replaced(item, old, new) for name in ("content", "plan") if name in item}
        table.put_item(TableName="registry", Item=item | changed)


def _replaced(item: dict[str, Any], old: str, new: str) -> dict[str, str]:
    return {"S": item["content" if "content" in item else "plan"]["S"].replace(old, new)}


def without(*kinds: str) -> Callable[[World], object]:
    """The registry has lost the items of these kinds."""

    def inject(world: World) -> None:
        table = world.lakegate.clients["dynamodb"]
        for item in table.scan(TableName="registry", ConsistentRead=True)["Items"]:
            if item["id"]["S"].startswith(kinds):
                table.delete_item(TableName="registry", Key={"id": item["id"]})

    return inject


def damaged(table: str, key: dict[str, object], attribute: str) -> Callable[[World], object]:
    """An item of a line whose content is not JSON."""

    def inject(world: World) -> None:
        delivered(world)
        item = (
            world.lakegate.clients["dynamodb"].get_item(TableName=table, ConsistentRead=True, Key=key).get("Item", key)
        )
        world.lakegate.clients["dynamodb"].put_item(TableName=table, Item=item | {attribute: {"S": "{"}})

    return inject


HEAD: dict[str, object] = {"chain": {"S": "shop/orders_v1"}, "height": {"N": "-1"}}


def without_head(chain: str) -> Callable[[World], object]:
    """A chain has blocks and no head."""

    def inject(world: World) -> None:
        world.lakegate.delivered()
        world.lakegate.clients["dynamodb"].delete_item(TableName="ledger", Key=HEAD | {"chain": {"S": chain}})

    return inject


def damaged_row(world: World) -> None:
    key = {"id": {"S": f"workload#{delivered(world)}"}}
    item = world.lakegate.clients["dynamodb"].get_item(TableName="workloads", ConsistentRead=True, Key=key)["Item"]
    world.lakegate.clients["dynamodb"].put_item(TableName="workloads", Item=item | {"row": {"S": "{"}})


def damaged_manifest(world: World) -> None:
    world.lakegate.clients["s3"].put_object(Bucket=LAKE, Key="accepted/shop/orders_v1/_manifest.json", Body=b"{")


BACKUP = "docs/restore.md, An item that cannot be read"
SETTINGS_REFUSED = (
    "Maximum value of spark.dynamicAllocation.initialExecutors: 3 must be between spark.dynamicAllocation.minExecutor 1 "
    "and spark.dynamicAllocation.maxExecutors 2."
)
"""As AWS's own engineers quote it: aws-samples/aws-emr-utilities, pull request 175."""
OUT_OF_MEMORY = "Job failed. ExitCode: 137. Last few exceptions: java.lang.OutOfMemoryError: Java heap space"
CASES: tuple[Case, ...] = (
    Case("contract-missing", emptied, "lakegate publish FILE"),
    Case(
        "contract-missing", unrouted_without_contracts, "lakegate publish FILE", ("nobody/x.csv",), name="of a delivery"
    ),
    Case("route-missing", unrouted, "lakegate route add PREFIX/ CONTRACT, then: lakegate replay", ("nobody/x.csv",)),
    Case("route-missing", unrouted_and_ignored, "lakegate route add", ("nobody/x.csv",), name="ignored"),
    Case("registry-differs", without("version#"), "lakegate publish FILE", name="version"),
    Case("registry-differs", without("contract#"), "lakegate publish FILE", name="list"),
    Case("registry-differs", without("route#"), "lakegate route add PREFIX shop", name="route"),
    Case("registry-differs", without("contract#", "version#"), "lakegate publish FILE", name="list and version"),
    Case("contract-draft", with_status("draft"), "lakegate reactivate shop/orders_v1", (KEY,)),
    Case("contract-sunset", with_status("sunset"), "lakegate subscribers shop/orders_v1", (KEY,)),
    Case("contract-retired", with_status("retired"), "publish an active version", (KEY,)),
    Case("plan-missing", unplanned, "publish the same document again"),
    Case("plan-missing", unplanned_delivery, "publish the same document again", (KEY,), name="of a delivery"),
    Case("row-unreadable", damaged_row, BACKUP),
    Case("row-unreadable", damaged_row, BACKUP, (KEY,), name="by name"),
    *(
        Case("row-unreadable", damaged(table, {"id": {"S": key}}, attribute), BACKUP, name=key.partition("#")[0])
        for table, key, attribute in (
            ("workloads", "line#shop/orders_v1", "line"),
            ("workloads", "promise#shop/orders_v1", "promises"),
            ("workloads", "pull#shop/orders_v1", "pull"),
            ("workloads", "revalidation#shop/orders_v1", "revalidation"),
            ("workloads", "slices#shop/orders_v1", "following"),
            ("workloads", "pause#shop/orders_v1", "since"),
            ("registry", "contract#shop", "content"),
            ("registry", "version#shop#1.0.0", "content"),
            ("registry", "route#lakegate-landing/orders/", "major"),
            ("registry", "proposal#shop#2.0.0", "proposal"),
        )
    ),
    Case("manifest-untrue", damaged_manifest, "aws s3api delete-object"),
    Case("head-lost", without_head("shop/orders_v1"), "lakegate verify shop/orders_v1", name="of a line"),
    Case("head-lost", without_head("_contracts/shop"), "docs/restore.md, The head of a chain", name="of a contract"),
    Case("row-unreadable", damaged("ledger", HEAD, "top"), BACKUP, name="head"),
    Case("run-failed", failed_and_deleted, "lakegate replay", name="without its landed version"),
    Case("source-lost", lost, "CloudTrail"),
    Case("object-archived", failed("archived"), "aws s3api restore-object"),
    Case("object-denied", failed("access-denied"), "kms:Decrypt"),
    Case("not-taken-in", untaken, "the next sweep takes it in"),
    Case("not-taken-in", untaken, "the next sweep takes it in", (KEY,), name="by name"),
    Case("line-paused", paused, "lakegate resume shop/orders_v1"),
    Case("line-paused", paused_delivery, "lakegate resume shop/orders_v1", (KEY,), name="of a delivery"),
    Case("line-paused-long", paused_for_days, "lakegate resume shop/orders_v1"),
    Case("part-waits", waiting_part, "`_SUCCESS`"),
    Case("part-waits", waiting_part, "`_delivery.json`", (KEY,), name="by name"),
    Case("overdue", received, "the log of sweep"),
    Case("overdue", unanswered, "the log of sweep", name="answer"),
    Case("answer-awaited", waiting, "lakegate approve"),
    Case("answer-awaited", lambda world: waiting(world, 100), "lakegate decline", (KEY,), name="by name"),
    Case("batch-open", batched, "batchSeconds", (KEY,)),
    Case(
        "protocol-alarm", log("Sweep", message="StepFailures", detail=f"copy-differs @ {'a' * 64}"), "docs/operator.md"
    ),
    Case("run-waiting", running("QUEUED", 20), "MaxConcurrentRuns"),
    Case("run-hung", hung, "cancels it"),
    Case("end-unseen", running("SUCCESS"), "the next sweep reads the result"),
    Case("end-unseen", forgotten, "the next sweep reads the result", name="forgotten"),
    Case("start-waits", starts_later, "SmallFileBytes", (KEY,)),
    Case("job-settings", failed(details=SETTINGS_REFUSED), "ExtraJobParameters"),
    Case("job-memory", failed(details=OUT_OF_MEMORY), "spark.executor.memory"),
    Case("job-disk", failed(details="java.io.IOException: No space left on device"), "executor.disk=200g"),
    Case("job-python", failed(details="Cannot run program ./environment/bin/python: No such file"), "PYTHON_ARCHIVE"),
    Case(
        "job-python",
        failed(details="ExitCode: 127. no Python 3.11 in this image"),
        "PYTHON_ARCHIVE",
        name="in no place",
    ),
    Case("run-failed", failed(), "get-dashboard-for-job-run --application-id", (KEY,)),
    Case(
        "code-missing", failed(details="NoSuchKey: s3://lake/code/r/deequ.jar"), "aws s3 sync", (KEY,), name="in a run"
    ),
    Case(
        "right-missing",
        failed(details="Access Denied (Service: Amazon S3; Status Code: 403)"),
        "docs/doctor.md, Changed by hand",
        name="in a run",
    ),
    Case("kms-refused", failed(details="is not authorized to perform: kms:Decrypt"), "kms:Decrypt", name="in a run"),
    Case(
        "throttled",
        failed(details="exceeded the maximum capacity of the application"),
        "Service Quotas",
        name="in a run",
    ),
    Case("rule-unmeasured", failed("undecided"), "lakegate reasons"),
    Case("validator-failed", failed("validator-late"), "lakegate validator list"),
)

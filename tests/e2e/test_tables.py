"""Tables in the Glue catalog of the embedded AWS: kept by the deployed function, and read with Iceberg's own library."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyiceberg.catalog.glue import GlueCatalog

from lakegate.aws.clients import client
from lakegate.base.errors import InputError
from lakegate.gate.delivery.protocol import State
from tests.e2e.deployed import SMALL, Deployed, until
from tests.e2e.running import lakegate, publish_contract

pytestmark = pytest.mark.e2e

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: ID
name: Shop as a table
version: 1.0.0
status: active
schema:
  - name: sales
    logicalType: object
    physicalType: file
    properties:
      - {name: id, logicalType: integer, required: true}
      - {name: price, logicalType: number, physicalType: "decimal(10,2)"}
      - {name: sold, logicalType: timestamp}
    customProperties:
      - {property: lakegate, value: {publishAs: iceberg, replaces: delivery, onReject: rows, pull: null}}
""".replace(", pull: null", "")


REJECTED = '{"id": "x", "price": null, "sold": null}'


def body(*identities: int) -> bytes:
    lines = "".join(f"{each},{each}.50,2026-01-0{each % 9 + 1}T00:00:00Z\n" for each in identities)
    return f"id,price,sold\n{lines}".encode()


@pytest.fixture
def rows(stack: Deployed) -> Callable[[str], list[int]]:
    """The ids that a reader of the table of a contract gets, by the catalog alone."""
    endpoint = stack.state.endpoint
    catalog = GlueCatalog("reader", **{"s3.endpoint": endpoint, "s3.region": os.environ["AWS_REGION"]})

    def read(contract: str) -> list[int]:
        try:
            table = catalog.load_table(("accepted", f"{contract}_sales_v1"))
        except Exception:  # noqa: BLE001 - it is not there yet: this is waited for
            return []
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    return read


def rejected_records(stack: Deployed, contract: str) -> list[str]:
    """The records in the table of rejected rows, by the catalog alone."""
    own = {"s3.endpoint": stack.state.endpoint, "s3.region": os.environ["AWS_REGION"]}
    table = GlueCatalog("reader", **own).load_table(("accepted", f"{contract}_sales_v1_rejected"))
    return [str(each) for each in table.scan().to_arrow()["record"].to_pylist()]


def notify(stack: Deployed) -> None:
    """Send what happened now, and not within a minute."""
    client("lambda").invoke(FunctionName=stack.resources["NotifyFunction"], Payload=b"{}")


def test_accepted_rows_are_a_table_at_once(stack: Deployed, rows: Callable[[str], list[int]]) -> None:
    """Judged by the function and by Spark; what is delivered again replaces, what is recalled leaves until it is restored."""
    contract, prefix = f"tabled{uuid4().hex[:6]}", f"{uuid4().hex[:8]}/"
    publish_contract(stack.dependencies, prefix, CONTRACT.replace("ID", contract).encode())
    large = range(100, 100 + SMALL // 10)
    delivered = [stack.upload(body(1, 2), f"{prefix}a.csv"), stack.upload(body(*large), f"{prefix}b.csv")]
    ended = [stack.finished(each) for each in delivered]

    assert [row.state for row in ended] == [State.PUBLISHED] * 2
    notify(stack)
    until("both deliveries are rows of the table", lambda: rows(contract) == [1, 2, *large] or None)
    stack.finished(stack.upload(body(1, 2, 3) + b"x,,\n", f"{prefix}a.csv"))
    notify(stack)
    until("the first one is replaced by its accepted rows", lambda: rows(contract) == [1, 2, 3, *large] or None)
    until("its rejected row is in a table", lambda: rejected_records(stack, contract) == [REJECTED] or None)
    for command, expected in (("recall", [1, 2, 3]), ("restore", [1, 2, 3, *large])):
        done = lakegate(command, ended[1].id, "--reason", "a test", "--local")
        assert done.exit_code == 0, done.output
        notify(stack)
        until(f"the table after {command}", lambda wanted=expected: rows(contract) == wanted or None)
    first = str(min(row.height for row in ended if row.height is not None))
    shown = json.loads(lakegate("table", contract, "--local", "--json").output)
    earlier = json.loads(lakegate("table", contract, "--local", "--json", "--height", first, "--for", "trino").output)

    read: dict[str, Any] = {}
    exec(shown["statements"]["pandas"], read)  # noqa: S102 - as a consumer copies it

    assert (shown["height"], shown["lacks"]) == (int(first) + 4, 0)
    assert (sorted(read["frame"]["id"]), read["frame"]["id"].dtype) == ([1, 2, 3, *large], "int64[pyarrow]")
    assert shown["statements"]["athena"].endswith(f'"accepted"."{shown["table"]}";')
    assert f"FOR VERSION AS OF {earlier['snapshot']}" in earlier["statements"]["trino"]


def test_the_schedule_finds_what_no_event_named(stack: Deployed, rows: Callable[[str], list[int]]) -> None:
    """The rule that names datasets is off while a delivery is accepted."""
    contract, prefix = f"unnamed{uuid4().hex[:6]}", f"{uuid4().hex[:8]}/"
    publish_contract(stack.dependencies, prefix, CONTRACT.replace("ID", contract).encode())
    rule, bus = stack.resources["TableRule"].rpartition("|")[2], stack.stack.output("EventBusName")
    client("events").disable_rule(Name=rule, EventBusName=bus)
    try:
        stack.finished(stack.upload(body(7), f"{prefix}a.csv"))
        notify(stack)
    finally:
        client("events").enable_rule(Name=rule, EventBusName=bus)
    before = rows(contract)
    answer: Any = client("lambda").invoke(FunctionName=stack.resources["TableFunction"], Payload=b"{}")
    counts = json.loads(answer["Payload"].read())

    assert "FunctionError" not in answer, counts
    assert counts["tables"] >= 1
    assert (before, rows(contract)) == ([], [7])


def test_deliveries_of_before_come_into_the_table(
    stack: Deployed, rows: Callable[[str], list[int]], tmp_path: Path
) -> None:
    """A minor version makes a table of a dataset that has a delivery, judged by Spark, and a split one; erasures reach them."""
    contract, prefix = f"adopted{uuid4().hex[:6]}", f"{uuid4().hex[:8]}/"
    text = CONTRACT.replace("ID", contract)
    publish_contract(stack.dependencies, prefix, text.replace("publishAs: iceberg, ", "").encode())
    large = range(100, 100 + SMALL // 10)
    before = [stack.upload(body(1, 2) + b"x,,\n", f"{prefix}a.csv"), stack.upload(body(*large), f"{prefix}b.csv")]
    assert [stack.finished(each).state for each in before] == [State.PUBLISHED] * 2
    path = tmp_path / "next.yaml"
    path.write_text(text.replace("version: 1.0.0", "version: 1.1.0"))
    published = lakegate("publish", str(path), "--local")
    assert published.exit_code == 0, published.output
    stack.finished(stack.upload(body(3), f"{prefix}c.csv"))
    adopted = [lakegate("table", contract, "--adopt", "--yes", "--local", "--json") for _ in range(2)]
    assert [json.loads(each.output)["rows"] for each in adopted] == [2 + len(large), 0]
    client("lambda").invoke(FunctionName=stack.resources["TableFunction"], Payload=b"{}")
    until("all three deliveries are rows of the table", lambda: rows(contract) == [1, 2, 3, *large] or None)
    done = lakegate("erase", contract, "--where-key", "id=2", "--reason", "a test", "--yes", "--local", "--json")
    assert done.exit_code == 0, done.output
    verified = lakegate("verify", contract, "--objects", "--local", "--json")

    assert rows(contract) == [1, 3, *large]
    assert json.loads(verified.output)["intact"]


def test_erased_rows_leave_the_table_its_snapshots_and_its_metadata(
    stack: Deployed, rows: Callable[[str], list[int]]
) -> None:
    """The command tells the deployed function, waits for it, and deletes what is left; nobody travels to before."""
    contract, prefix = f"erased{uuid4().hex[:6]}", f"{uuid4().hex[:8]}/"
    publish_contract(stack.dependencies, prefix, CONTRACT.replace("ID", contract).encode())
    for name, identities in (("a.csv", (1, 2)), ("b.csv", (3,))):
        stack.finished(stack.upload(body(*identities), f"{prefix}{name}"))
    notify(stack)
    until("both deliveries are rows of the table", lambda: rows(contract) == [1, 2, 3] or None)
    done = lakegate("erase", contract, "--where-key", "id=2", "--reason", "a test", "--yes", "--local", "--json")
    assert done.exit_code == 0, done.output
    with pytest.raises(InputError, match="has no snapshot of then"):
        lakegate("table", contract, "--local", "--height", "1")
    verified = lakegate("verify", contract, "--objects", "--local", "--json")
    below = (f"tables/{contract}/sales_v1/", f"accepted/{contract}/sales_v1/ingest_date=")
    listed = [client("s3").list_object_versions(Bucket=stack.stack.output("LakeBucket"), Prefix=each) for each in below]
    typed = [each["Key"] for each in listed[1]["Versions"] if "/_table/" in each["Key"]]

    assert rows(contract) == [1, 3]
    assert json.loads(verified.output)["intact"]
    assert [each["Key"] for found in listed for each in found["Versions"] if not each["IsLatest"]] == []
    assert len([each for each in typed if each.endswith("/part-00000.parquet")]) == 1
    assert len(typed) == 2

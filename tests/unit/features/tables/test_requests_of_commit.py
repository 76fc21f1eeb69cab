"""The requests to Glue and S3 that a delivery costs for its table: as many for the tenth as for the second one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import ThreadedMotoServer

from lakegate.features.tables.glue_tables import glue_tables
from lakegate.features.tables.keep_table import ShownState, TableSnapshot
from lakegate.gate.ledger.blocks import TableFile

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

pytestmark = pytest.mark.slow

DATASET = "shop/orders_v1"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """S3 and Glue as a server, and what it is asked."""
    found = Counter[str]()
    serve = DomainDispatcherApplication.__call__

    def noted(self: Any, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        target = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        method = "LIST" if "list-type" in environ.get("QUERY_STRING", "") else environ["REQUEST_METHOD"]
        found[f"Glue {target}" if target else f"S3 {method}"] += 1
        return serve(self, environ, start)

    monkeypatch.setattr(DomainDispatcherApplication, "__call__", noted)
    server = ThreadedMotoServer(port=0)
    server.start()
    endpoint = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    urlopen(Request(f"{endpoint}/moto-api/reset", method="POST"))  # noqa: S310 - of this test
    boto3.client("s3").create_bucket(Bucket="lake")
    boto3.client("glue").create_database(DatabaseInput={"Name": "accepted"})
    yield found
    server.stop()


def test_a_delivery_costs_its_table_a_few_requests_however_many_there_were(asked: Counter[str]) -> None:
    """To find what the table shows, and to commit: metadata, list of manifests, a manifest, the footer of the file."""
    settings: Any = SimpleNamespace(stack="lakegate", table_database="accepted", lake="lake")
    (tables, _), shown = glue_tables(settings), ShownState()
    costs = []
    for height in range(10):
        body = BytesIO()
        pq.write_table(pa.table({"n": pa.array([height], pa.int64())}), body, compression="zstd")
        boto3.client("s3").put_object(Bucket="lake", Key=f"part-{height}.parquet", Body=body.getvalue())
        file = TableFile(f"part-{height}.parquet", 1)
        asked.clear()
        if not height:
            tables.make(DATASET, file)
            asked.clear()
        assert tables.shown(DATASET) == shown
        shown = tables.commit(TableSnapshot(DATASET, height, f"d{height}", (), (file,)), shown)
        costs.append(dict(asked))

    of_glue = {"Glue GetDatabase": 1, "Glue GetTable": 3, "Glue UpdateTable": 1}
    of_s3 = {"S3 HEAD": 9, "S3 GET": 6, "S3 LIST": 1, "S3 POST": 6, "S3 PUT": 3}
    assert costs[1:] == [of_glue | of_s3] * 9

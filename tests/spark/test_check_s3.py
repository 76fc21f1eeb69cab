"""`lakegate check --engine spark` on an object of S3: the workers read the version that the command has pinned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from infra.samples.sample_data import SAMPLES, write
from lakegate.base.extension_points import ROOT

pytestmark = pytest.mark.spark


def test_spark_judges_an_object_as_the_native_engine_does(tmp_path: Path) -> None:
    """Both engines give the same document for the same object, read over HTTP with an endpoint of the environment."""
    file = tmp_path / "orders.csv"
    write(SAMPLES["orders-dirty.csv"], file, 500, seed=1)
    server = ThreadedMotoServer(port=0)
    server.start()
    _, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }

    def judged(engine: str) -> dict[str, Any]:
        contract = ROOT / "contracts/examples/orders.odcs.yaml"
        command = ["check", "--json", "--engine", engine, "--contract", str(contract), "s3://data/in/orders.csv"]
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "lakegate.cli.main", *command],
            cwd=ROOT,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        document: dict[str, Any] = json.loads(ended.stdout)
        measured_by = {each.pop("technology") for each in document["checks"] if each.pop("version")}
        return {name: each for name, each in document.items() if name != "timings"} | {"measured_by": measured_by}

    try:
        client = boto3.client(
            "s3",
            endpoint_url=settings["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        client.create_bucket(Bucket="data")
        client.put_object(Bucket="data", Key="in/orders.csv", Body=file.read_bytes())
        native, spark = judged("native"), judged("spark")
    finally:
        server.stop()

    assert (native["verdict"], native["rows"]) == ("rejected", 500)
    assert (native.pop("measured_by"), spark.pop("measured_by")) == ({"DuckDB"}, {"Deequ"})
    assert spark == native

"""An AWS for functions in processes of their own: moto behind one lock, the stack's resources, and failures on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
from moto.emrserverless import models
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from lakegate.aws.dynamodb_table import DEFINITIONS
from tests.sam.emulator import CREDENTIALS, REGION

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

BUS = "lakegate"
DENIED = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"


@dataclass
class Aws:
    """The server, and its clients."""

    fault: Callable[[dict[str, Any]], str] | None = None
    """Asked for each request: "" for an answer as always, `refuse` for 403, `hang` for none until `release`."""
    released: threading.Event = field(default_factory=threading.Event)
    address: str = ""
    server: BaseWSGIServer | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, host: str = "127.0.0.1") -> None:
        """Serve on a free port."""
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.server = make_server(host, 0, self._answer, threaded=True)
        self.address = f"http://{host}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self.released.set()
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()

    def client(self, service: str) -> Any:
        """A client of this AWS."""
        known = {name.lower(): value for name, value in CREDENTIALS.items()}
        return boto3.client(service, endpoint_url=self.address, region_name=REGION, **known)  # type: ignore[call-overload]  # any

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        match self.fault(environ) if self.fault else "":
            case "refuse":
                start_response("403 Forbidden", [("Content-Type", "application/xml")])
                return [DENIED]
            case "hang":
                self.released.wait()
        with self._lock:
            return [b"".join(self._moto(environ, start_response))]


@dataclass
class Deployed:
    """The stack's resources on that AWS, empty."""

    aws: Aws
    s3: Any
    dynamodb: Any
    emr: Any

    @classmethod
    def on(cls, aws: Aws) -> Deployed:
        """Everything made again, under the same names and ids each time."""
        import requests  # noqa: PLC0415 - moto's own

        base = f"{aws.address}/moto-api"
        requests.post(f"{base}/reset", timeout=9)
        requests.post(f"{base}/seed?a=42", timeout=9)
        s3, dynamodb, emr = (aws.client(name) for name in ("s3", "dynamodb", "emr-serverless"))
        emr.create_application(name="lakegate", releaseLabel="emr-7.14.0", type="SPARK")
        for bucket in ("landing", "lake"):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        for name, definition in DEFINITIONS.items():
            dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **definition)
        aws.client("events").create_event_bus(Name=BUS)
        return cls(aws, s3, dynamodb, emr)

    @property
    def application(self) -> str:
        """The id of the application."""
        return str(self.emr.list_applications()["applications"][0]["id"])

    def land(self, key: str, body: bytes = b"a\n1\n") -> str:
        """Upload an object; its version id."""
        return str(self.s3.put_object(Bucket="landing", Key=key, Body=body)["VersionId"])

    def states(self) -> dict[str, str]:
        """The state of every workload, by id."""
        items = self.dynamodb.scan(TableName="workloads", ConsistentRead=True)["Items"]
        return {
            item["id"]["S"].removeprefix("workload#"): item["state"]["S"]
            for item in items
            if item["id"]["S"].startswith("workload#")
        }

    def keys(self, bucket: str) -> list[str]:
        """The current keys of a bucket."""
        return [each["Key"] for each in self.s3.list_objects_v2(Bucket=bucket).get("Contents", ())]

    def runs(self) -> list[Any]:
        """The job runs, as moto keeps them; their state may be set."""
        backend = models.emrserverless_backends["123456789012"][REGION]
        return [run for runs in backend.job_runs.values() for run in runs]

    def messages(self, queue: str) -> list[str]:
        """The bodies in a queue."""
        received = self.aws.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        return [each["Body"] for each in received.get("Messages", ())]

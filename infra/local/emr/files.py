"""What runs need from S3 and leave there: programs and packages fetched by content, driver logs written."""

from __future__ import annotations

import gzip
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_s3.client import S3Client

    from infra.local.emr.runs import Run

LOGS: Final = ("stdout", "stderr")


class UnreachableError(Exception):
    """A file that a run names cannot be read."""


class FileCache:
    """Fetches to a folder where every content has its own place, so that a name always means the same bytes."""

    def __init__(self, client: S3Client, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def fetch(self, uri: str) -> Path:
        """A local copy of the object or file at an address (`s3://`, `s3a://`, `file://` or a path); UnreachableError."""
        scheme, _, place = uri.rpartition("://")
        try:
            content = self._read(place) if scheme in {"s3", "s3a"} else Path(place).read_bytes()
        except (BotoCoreError, ClientError, OSError) as error:
            raise UnreachableError(f"{uri} cannot be read: {type(error).__name__}") from error
        return self._kept(content, Path(place).name)

    def write_logs(self, run: Run, folder: Path) -> None:
        """Write an attempt's logs to the place in the run's monitoring configuration, compressed as EMR Serverless does.

        A log that cannot be written causes a line on standard error and never fails the run.
        """
        target = log_folder(run)
        if target is None:
            return
        bucket, prefix = target
        try:
            for name in LOGS:
                content = gzip.compress((folder / name).read_bytes(), mtime=0)
                self._client.put_object(Bucket=bucket, Key=f"{prefix}/SPARK_DRIVER/{name}.gz", Body=content)
        except (BotoCoreError, ClientError) as error:
            print(f"emr: the logs of {run.id} were not written: {error}", file=sys.stderr)

    def _read(self, place: str) -> bytes:
        bucket, _, key = place.partition("/")
        return self._client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def _kept(self, content: bytes, name: str) -> Path:
        path = self._folder / sha256(content).hexdigest() / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f".{name}.{os.getpid()}.{id(content)}")
            aside.write_bytes(content)
            aside.replace(path)
        return path


def log_folder(run: Run) -> tuple[str, str] | None:
    """Bucket and prefix of the latest attempt's logs; None where no `logUri` was given."""
    uri = _log_uri(run.request.get("configurationOverrides", {})) or _log_uri(run.application.request)
    if uri is None:
        return None
    parts = urlsplit(uri)
    below = f"applications/{run.application.id}/jobs/{run.id}"
    attempt = f"/attempts/{run.latest.number}" if run.most_attempts > 1 else ""
    return parts.netloc, f"{parts.path.strip('/')}/{below}{attempt}".lstrip("/")


def _log_uri(configuration: Mapping[str, Any]) -> str | None:
    found: str | None = (
        configuration.get("monitoringConfiguration", {}).get("s3MonitoringConfiguration", {}).get("logUri")
    )
    return found

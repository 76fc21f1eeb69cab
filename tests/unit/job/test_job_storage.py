"""What a run writes on its machine, stored: a large file is neither in memory nor in one request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lakegate.base.errors import InputError
from lakegate.job import job_storage
from lakegate.job.job_storage import Buckets
from tests.fakes.quick_moto import quick_aws

LAKE, URI = "lake", "s3://lake/runs/w/attempt=1/slices/state.bin"
MIB = 1 << 20


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3, where a file above 6 MiB goes in parts of 5 MiB."""
    monkeypatch.setattr(job_storage, "WHOLE", 6 * MIB)
    monkeypatch.setattr(job_storage, "PART", 5 * MIB)
    with quick_aws():
        s3 = boto3.client("s3", "us-east-1")
        s3.create_bucket(Bucket=LAKE)
        monkeypatch.setattr(job_storage, "_buckets", lambda: Buckets(s3))
        yield s3


def written(folder: Path, size: int) -> tuple[Path, bytes]:
    path, content = folder / "state.bin", os.urandom(size)
    path.write_bytes(content)
    return path, content


@pytest.mark.parametrize(("size", "parts"), [(100, 0), (6 * MIB, 0), (6 * MIB + 1, 2), (12 * MIB, 3)])
def test_a_file_is_stored_whole(client: Any, tmp_path: Path, size: int, parts: int) -> None:
    """Whatever its size; what is returned is the ETag of the object."""
    path, content = written(tmp_path, size)
    etag = job_storage.keep(path, URI)
    found = client.get_object(Bucket=LAKE, Key=URI.removeprefix("s3://lake/"))

    assert found["Body"].read() == content
    assert (found["ETag"], found["ContentType"]) == (etag, "application/octet-stream")
    assert etag.strip('"').partition("-")[2] == (str(parts) if parts else "")


@pytest.mark.parametrize("size", [100, 7 * MIB])
def test_a_task_that_is_repeated_leaves_the_first_object(client: Any, tmp_path: Path, size: int) -> None:
    """The same bytes have the same ETag; other bytes are another attempt's, also where they are as many."""
    path, _ = written(tmp_path, size)
    conditions: list[str] = []
    client.meta.events.register("before-call.s3", lambda params, **_: conditions.append(params["headers"]))
    first = job_storage.keep(path, URI)
    ends = [each for each in conditions if each.get("If-None-Match") == "*"]

    assert len(ends) == 1
    assert job_storage.keep(path, URI) == first
    for other in (size, size + 1, size - 1):
        with pytest.raises(InputError, match="answered before"):
            job_storage.keep(written(tmp_path, other)[0], URI)


def test_an_upload_that_fails_leaves_no_parts(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be billed until the bucket's lifecycle ends them."""

    def refused(**_: object) -> None:
        raise ClientError({"Error": {"Code": "SlowDown", "Message": ""}}, "CompleteMultipartUpload")

    monkeypatch.setattr(client, "complete_multipart_upload", refused)
    with pytest.raises(OSError, match="S3 answers SlowDown"):
        job_storage.keep(written(tmp_path, 7 * MIB)[0], URI)

    assert "Uploads" not in client.list_multipart_uploads(Bucket=LAKE)


def test_a_file_of_this_machine_is_stored_beside_others(tmp_path: Path) -> None:
    """By its SHA-256; never over another one."""
    path, content = written(tmp_path, 100)
    uri = (tmp_path / "kept" / "state.bin").as_uri()
    etag = job_storage.keep(path, uri)

    assert (tmp_path / "kept" / "state.bin").read_bytes() == content
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["state.bin"]
    assert job_storage.keep(path, uri) == etag

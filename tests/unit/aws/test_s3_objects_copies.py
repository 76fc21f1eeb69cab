"""Copies: of one version, whole or in parts that are resumed, shared by workers and completed once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from lakegate.base.errors import ConditionFailed, NotFound, PortError, TransactionConflict, Unfinished
from lakegate.gate.ports import Address
from tests.unit.aws.conftest import Cloud
from tests.unit.aws.test_s3_objects import TO, body_of, landed, recorded

PART = 5 * 1024 * 1024


BIG = bytes(range(256)) * (2 * PART // 256) + b"the last part"


def after(calls: int) -> Callable[[], float]:
    """A clock that leaves time for this many parts."""
    left = iter([900.0] * calls)
    return lambda: next(left, 30.0)


def uploads_of(cloud: Cloud) -> list[str]:
    return [each["UploadId"] for each in cloud.s3.list_multipart_uploads(Bucket="lake").get("Uploads", [])]


def test_a_copy_is_of_the_version_named(cloud: Cloud) -> None:
    """A key written over after it was pinned does not change what is copied."""
    source = landed(cloud, b"judged")
    etag = cloud.store().head(source).etag
    landed(cloud, b"later")
    copy = cloud.store().copy(source, etag, TO, absent=True)

    assert (body_of(cloud, TO), copy.size) == (b"judged", 6)


def test_a_copy_brings_nothing_but_the_bytes(cloud: Cloud) -> None:
    """Metadata and tags that a producer wrote beside the data do not enter the lake."""
    version = cloud.s3.put_object(
        Bucket="landing", Key="k", Body=b"x", Metadata={"name": "Erika Mustermann"}, Tagging="who=erika"
    )["VersionId"]
    source = Address("landing", "k", version)
    cloud.store().copy(source, cloud.store().head(source).etag, TO)

    assert cloud.s3.head_object(Bucket="lake", Key=TO.key)["Metadata"] == {}
    assert cloud.s3.get_object_tagging(Bucket="lake", Key=TO.key)["TagSet"] == []


@pytest.mark.parametrize("limit", [1024, 0], ids=["whole", "in parts"])
def test_a_copy_has_the_tag_that_is_asked_for(cloud: Cloud, limit: int) -> None:
    """Lifecycle rules select by it, from the moment at which the copy is there."""
    source = landed(cloud)
    etag = cloud.store().head(source).etag
    cloud.store(limit=limit).copy(source, etag, TO, tag="quarantine-30")

    tags = cloud.s3.get_object_tagging(Bucket="lake", Key=TO.key)["TagSet"]
    assert tags == [{"Key": "lakegate", "Value": "quarantine-30"}]


@pytest.mark.parametrize("limit", [1024, 0], ids=["whole", "in parts"])
def test_a_copy_of_another_etag_is_refused(cloud: Cloud, limit: int) -> None:
    """A version whose ETag is not the pinned one is not copied."""
    with pytest.raises(ConditionFailed):
        cloud.store(limit=limit).copy(landed(cloud), '"another"', TO)


@pytest.mark.parametrize("limit", [1024, 0], ids=["whole", "in parts"])
def test_a_copy_of_a_version_that_is_gone_is_not_found(cloud: Cloud, limit: int) -> None:
    """NotFound means that the source is gone."""
    source = landed(cloud)
    etag = cloud.store().head(source).etag
    cloud.store().delete(source)

    with pytest.raises(NotFound):
        cloud.store(limit=limit).copy(source, etag, TO)


def in_parts(cloud: Cloud, source: Address, **knobs: Any) -> Any:
    store = cloud.store(limit=0, part=PART, **knobs)
    return store.copy(source, store.head(source).etag, TO)


def test_a_large_copy_goes_in_parts(cloud: Cloud) -> None:
    """A copy above the limit arrives byte for byte and leaves neither a note nor an upload."""
    arrived = in_parts(cloud, landed(cloud, BIG))

    assert (BIG, len(BIG)) == (body_of(cloud, TO), arrived.size)
    assert (cloud.store().uploads.get(TO), uploads_of(cloud)) == (None, [])


def test_a_copy_out_of_time_goes_on_where_it_stopped(cloud: Cloud) -> None:
    """Each part is copied once over all the invocations a copy takes."""
    source = landed(cloud, BIG)
    copied: list[str] = []
    cloud.s3.meta.events.register(
        "before-call.s3.UploadPartCopy", lambda params, **_: copied.append(params["url_path"])
    )
    for _ in range(2):
        with pytest.raises(Unfinished):
            in_parts(cloud, source, remaining=after(1))
    in_parts(cloud, source, remaining=after(1))

    assert (body_of(cloud, TO), len(copied)) == (BIG, 3)


def test_parts_are_copied_several_at_once(cloud: Cloud) -> None:
    """Each part of a copy waits until another one is under way: one after the other they would never end."""
    both = threading.Barrier(2, timeout=10)
    source = landed(cloud, BIG[: PART + 100])

    def meet(**_: object) -> None:
        both.wait()

    cloud.s3.meta.events.register("before-call.s3.UploadPartCopy", meet)
    try:
        in_parts(cloud, source)
    finally:
        cloud.s3.meta.events.unregister("before-call.s3.UploadPartCopy", meet)

    assert body_of(cloud, TO) == BIG[: PART + 100]


def test_an_upload_is_noted_before_its_first_part(cloud: Cloud) -> None:
    """A function that dies before any part leaves the note by which the next one finds the same upload."""
    with pytest.raises(Unfinished):
        in_parts(cloud, landed(cloud, BIG), remaining=after(0))

    assert uploads_of(cloud) == [cloud.store().uploads.get(TO)]


def test_two_workers_share_one_upload(cloud: Cloud) -> None:
    """Who begins an upload and finds another one noted ends their own and goes on with the other's."""
    store = cloud.store(limit=0, part=PART)
    store.uploads.note(TO, other := cloud.s3.create_multipart_upload(Bucket="lake", Key=TO.key)["UploadId"])

    assert other == store._begin(TO, "")  # noqa: SLF001 - the moment between looking and noting
    assert [other] == uploads_of(cloud)


def test_a_copy_that_another_worker_completed_is_done(cloud: Cloud) -> None:
    """The slower of two workers finds the upload gone and the object there: the same bytes, so it is done."""
    source = landed(cloud, BIG)
    in_parts(cloud, source)
    cloud.store().uploads.note(TO, "completed-by-another")

    assert len(BIG) == in_parts(cloud, source).size
    assert cloud.store().uploads.get(TO) is None


def test_a_copy_whose_upload_was_ended_is_begun_again(cloud: Cloud) -> None:
    """An upload that the bucket's lifecycle ended is not taken for a source that is gone: calling again is right."""
    source = landed(cloud, BIG)
    cloud.store().uploads.note(TO, "ended-by-the-lifecycle")
    with pytest.raises(TransactionConflict):
        in_parts(cloud, source)

    assert len(BIG) == in_parts(cloud, source).size


def test_a_refused_completion_leaves_nothing(cloud: Cloud) -> None:
    """Where the destination is taken, the copy in parts is refused and its upload ended."""
    source = landed(cloud, BIG)
    store = cloud.store(limit=0, part=PART)
    store.put(TO, b"taken")
    with pytest.raises(ConditionFailed):
        store.copy(source, store.head(source).etag, TO, absent=True)

    assert (store.uploads.get(TO), uploads_of(cloud), body_of(cloud, TO)) == (None, [], b"taken")


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "ConcurrentModification", "OperationAborted"])
def test_a_completion_that_meets_another_write_begins_again(cloud: Cloud, code: str) -> None:
    """409 on CompleteMultipartUpload: S3's documentation asks for a new upload, so the noted one is ended and forgotten."""
    source, store = landed(cloud, BIG), cloud.store(limit=0, part=PART)
    refusals = iter([code])

    def conflict(**_: Any) -> Any:
        found = next(refusals, None)
        return found and (
            AWSResponse("", 409, {}, None),
            {"Error": {"Code": found}, "ResponseMetadata": {"HTTPStatusCode": 409}},
        )

    cloud.s3.meta.events.register("before-call.s3.CompleteMultipartUpload", conflict)
    try:
        with pytest.raises(TransactionConflict):
            store.copy(source, store.head(source).etag, TO, absent=True)
        left = store.uploads.get(TO), uploads_of(cloud)
        copied = store.copy(source, store.head(source).etag, TO, absent=True)
    finally:
        cloud.s3.meta.events.unregister("before-call.s3.CompleteMultipartUpload", conflict)

    assert (left, copied.size, body_of(cloud, TO)) == ((None, []), len(BIG), BIG)


def test_an_upload_that_another_worker_ended_first_is_no_missing_source(cloud: Cloud) -> None:
    """Ending an upload that is completed already is done: NotFound means the source, and makes a workload GONE."""
    store = cloud.store(limit=0, part=PART)
    store._abandon({"Bucket": TO.bucket, "Key": TO.key, "UploadId": "completed"}, TO)  # noqa: SLF001 - the moment after a refusal

    assert uploads_of(cloud) == []


def test_a_copy_that_differs_is_an_error(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size and checksum of what arrived are compared with the source, whatever S3 answered."""
    source = landed(cloud)
    etag = cloud.store().head(source).etag
    real = cloud.s3.copy_object

    def another(**call: Any) -> Any:
        return real(**{**call, "CopySource": {"Bucket": "landing", "Key": "other"}})

    landed(cloud, b"other bytes", "other")
    monkeypatch.setattr(cloud.s3, "copy_object", another)
    with pytest.raises(PortError, match="differs"):
        cloud.store().copy(source, etag, TO)


@pytest.mark.parametrize(("name", "limit"), [("CopyObject", 1024), ("UploadPartCopy", 0)])
def test_a_copy_is_asked_for_by_version_and_etag(cloud: Cloud, name: str, limit: int) -> None:
    """The request names the version to copy and its ETag, so that S3 itself checks them."""
    source = landed(cloud)
    etag = cloud.store().head(source).etag
    with recorded(cloud, name) as calls:
        cloud.store(limit=limit).copy(source, etag, TO)

    assert [(f"landing/in/orders.csv?versionId={source.version}", etag)] == [
        (each["x-amz-copy-source"], each["x-amz-copy-source-if-match"]) for _, each in calls
    ]

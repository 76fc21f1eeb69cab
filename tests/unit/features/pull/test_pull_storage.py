"""Pulls on S3: objects of other buckets as sources, and landing in parts."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from lakegate.base.errors import ConditionFailed, NotFound, PortError, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import OpenedSource, S3Source, SourceChanged, SourceIdentity, TransferByScheme
from lakegate.features.pull.pull_task import LandingParts, S3LandingParts
from lakegate.gate.ports import Address
from tests.fakes import FaultInjector, VirtualClock
from tests.fakes.objects import MemoryObjects
from tests.fakes.pulls import MemoryLandingParts
from tests.unit.aws.conftest import ACCOUNT, Cloud

PULL = Pull("s3://partner-exports/a/rows 1?.csv".replace(" ", "%20"), "rate(1 hour)")
KEY = "a/rows%201?.csv"
NOTHING = SourceIdentity()


@pytest.fixture
def bucket(cloud: Cloud) -> Any:
    cloud.s3.create_bucket(Bucket="partner-exports")
    cloud.s3.put_bucket_versioning(Bucket="partner-exports", VersioningConfiguration={"Status": "Enabled"})
    return cloud.s3


def source(client: Any) -> TransferByScheme:
    return TransferByScheme({"s3": S3Source(client, frozenset({"landing", "lake"}))})


def fetched(client: Any, *given: Any) -> tuple[SourceIdentity, int | None, bool, bytes] | None:
    with source(client).open("partner", PULL, *given) as opened:
        if opened is None:
            return None
        return opened.identity, opened.size, opened.resumable, opened.read(100)


def test_an_object_is_a_source(bucket: Any) -> None:
    """Its version and ETag are its identity; the same content is unchanged, and a range is of the same version."""
    put = bucket.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n1\n")
    identity = SourceIdentity(put["ETag"], "", put["VersionId"])
    whole = fetched(bucket, NOTHING)
    unchanged = fetched(bucket, identity)
    bucket.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n2\n")

    assert (whole, unchanged) == ((identity, 5, True, b"id\n1\n"), None)
    assert fetched(bucket, NOTHING, identity, 3) == (identity, 5, True, b"1\n")


def test_a_version_is_read_that_is_known_by_its_id_alone(bucket: Any) -> None:
    """As a producer names it; what is read has the ETag by which it is continued. An empty one has no range."""
    put, empty = (bucket.put_object(Bucket="partner-exports", Key=KEY, Body=each) for each in (b"id\n1\n", b""))
    bucket.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n2\n")
    named = SourceIdentity(version=put["VersionId"])

    assert fetched(bucket, NOTHING, named) == (SourceIdentity(put["ETag"], "", put["VersionId"]), 5, True, b"id\n1\n")
    assert fetched(bucket, NOTHING, SourceIdentity(version=empty["VersionId"])) == (
        SourceIdentity(empty["ETag"], "", empty["VersionId"]),
        0,
        True,
        b"",
    )
    assert fetched(bucket, NOTHING, SourceIdentity()) is not None


def test_an_object_of_an_unversioned_bucket_is_continued_by_its_etag(cloud: Cloud) -> None:
    """A changed one is refused."""
    cloud.s3.create_bucket(Bucket="partner-exports")
    put = cloud.s3.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n1\n")
    identity = SourceIdentity(put["ETag"])

    assert fetched(cloud.s3, NOTHING, identity, 3) == (identity, 5, True, b"1\n")
    cloud.s3.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n2\n")
    with pytest.raises(SourceChanged):
        fetched(cloud.s3, NOTHING, identity, 3)


def test_a_version_that_is_gone_is_no_remainder(bucket: Any) -> None:
    """The pull begins again."""
    put = bucket.put_object(Bucket="partner-exports", Key=KEY, Body=b"id\n1\n")
    bucket.delete_object(Bucket="partner-exports", Key=KEY, VersionId=put["VersionId"])
    with pytest.raises(SourceChanged):
        fetched(bucket, NOTHING, SourceIdentity(put["ETag"], "", put["VersionId"]), 3)
    with pytest.raises(NotFound):
        fetched(bucket, NOTHING)


@pytest.mark.parametrize("bucket_name", ["landing", "lake"])
def test_the_buckets_of_the_stack_are_no_sources(bucket_name: str, cloud: Cloud) -> None:
    """A contract could read what others delivered."""
    pull = Pull(f"s3://{bucket_name}/other/secret.csv")
    with pytest.raises(PortError, match="bucket-refused"), source(cloud.s3).open("partner", pull, NOTHING):
        pass


class Broken:
    """A client whose answers break off, or are refused."""

    def __init__(self, code: str = "") -> None:
        self._code = code

    def get_object(self, **_: object) -> dict[str, Any]:
        if self._code:
            raise ClientError({"Error": {"Code": self._code}}, "GetObject")
        return {"ETag": '"x"', "ContentLength": 5, "Body": self}

    def read(self, _: int) -> bytes:
        raise ReadTimeoutError(endpoint_url="")

    def close(self) -> None:
        pass


def test_a_read_that_breaks_off_is_no_answer() -> None:
    """Another attempt is right."""
    with pytest.raises(Unanswered):
        fetched(Broken(), NOTHING)


@pytest.mark.parametrize(("code", "begun"), [("PreconditionFailed", None), ("InvalidRange", SourceIdentity('"x"'))])
def test_a_refused_condition_is_a_change(code: str, begun: SourceIdentity | None) -> None:
    """Whatever the code is."""
    with pytest.raises(SourceChanged):
        fetched(Broken(code), NOTHING, begun)


def test_the_scheme_chooses_the_adapter() -> None:
    """Each is given all that was asked."""

    class Kept:
        def open(self, *given: object) -> Any:
            return given

    by = TransferByScheme({"https": Kept(), "s3": Kept()})

    assert by.open("c", PULL, NOTHING, None, 5) == ("c", PULL, NOTHING, None, 5)
    assert OpenedSource(NOTHING, None, resumable=False, read=bytes).read(2) == b"\0\0"


def on_aws(cloud: Cloud) -> tuple[LandingParts, Any]:
    return S3LandingParts(cloud.s3, "landing", ACCOUNT), cloud.store()


def in_memory(_: Cloud) -> tuple[LandingParts, Any]:
    objects = MemoryObjects(VirtualClock(), FaultInjector(), ("landing",))
    return MemoryLandingParts(objects, "landing"), objects


BIG, REST = b"x" * (5 << 20), b"rest"


@pytest.mark.parametrize("made", [on_aws, in_memory])
def test_landing_is_written_in_parts(made: Any, cloud: Cloud) -> None:
    """Parts stay until the object is made of them, and a second object at its key is refused."""
    landing, objects = made(cloud)
    uploads = [landing.begin("a/b.csv") for _ in range(3)]
    for upload in uploads:
        landing.add("a/b.csv", upload, 2, REST)
        landing.add("a/b.csv", upload, 1, BIG)
    assert [(each.number, each.size) for each in landing.arrived("a/b.csv", uploads[0])] == [(1, len(BIG)), (2, 4)]

    landing.complete("a/b.csv", uploads[0])
    with pytest.raises(ConditionFailed):
        landing.complete("a/b.csv", uploads[1])
    for _ in range(2):
        landing.abort("a/b.csv", uploads[2])
    with pytest.raises(NotFound):
        landing.arrived("a/b.csv", uploads[2])
    assert objects.read(Address("landing", "a/b.csv")) == BIG + REST

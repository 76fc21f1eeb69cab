"""Parts of a pulled object that may not be written to landing."""

from __future__ import annotations

from itertools import count

from lakegate.features.pull.pull_task import S3LandingParts
from tests.unit.aws.conftest import Cloud, cloud  # noqa: F401 - a fixture
from tests.unit.aws.denied_calls import assert_every_denial_is_of_the_port

NUMBERS = count()


def land_in_parts(cloud: Cloud) -> None:  # noqa: F811 - what the fixture gives
    parts, key = S3LandingParts(cloud.s3, "landing", "123456789012"), f"c-{next(NUMBERS)}"
    upload = parts.begin(key)
    parts.add(key, upload, 1, b"1")
    parts.arrived(key, upload)
    parts.complete(key, upload)
    parts.abort(key, parts.begin(key))


def test_whatever_is_denied_is_an_error_of_the_port(cloud: Cloud) -> None:  # noqa: F811 - the fixture
    """With the name of the operation, and nothing that AWS wrote."""
    assert_every_denial_is_of_the_port(land_in_parts, cloud)

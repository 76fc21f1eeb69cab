"""A topic of SNS that may not be published to."""

from __future__ import annotations

from datetime import UTC, datetime

from lakegate.features.notifications.notices import trial_notification
from lakegate.features.notifications.sns import Sns
from tests.fakes.quick_moto import client
from tests.unit.aws.conftest import Cloud, cloud  # noqa: F401 - a fixture
from tests.unit.aws.denied_calls import assert_every_denial_is_of_the_port

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)


def publish(_: Cloud) -> None:
    topic = client("sns").create_topic(Name="t")["TopicArn"]
    Sns(client("sns")).deliver(topic, trial_notification("sns:t", NOW))


def test_a_denied_topic_is_an_error_of_the_port(cloud: Cloud) -> None:  # noqa: F811 - the fixture
    """With the name of the operation, and nothing that AWS wrote."""
    assert_every_denial_is_of_the_port(publish, cloud)

"""Announcements, keys of requests, tokens of callbacks and validations: kept once, read as they were written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.features.announcements.announced_delivery import Announcement
from lakegate.features.http_api.idempotency_keys import KeptRequest
from lakegate.features.validator_api.validation_run import Validation
from lakegate.features.workflows.callbacks import CallbackToken
from lakegate.gate.delivery.delivery_row import SourceObject, Workload
from lakegate.gate.delivery.protocol import State
from tests.contract.conftest import Ports

UNTIL = datetime(2126, 1, 5, tzinfo=UTC)
KEPT = Announcement(
    "0" * 64, "shop", "1.0.0", "orders", f"orders/{'0' * 64}/ä.csv", 6, "AA=", "2026-01-05T12:15:00Z", "arn"
)


@pytest.mark.parametrize("announcement", [KEPT, replace(KEPT, size=None, sha256="")])
def test_an_announcement_is_read_as_it_was_written(ports: Ports, announcement: Announcement) -> None:
    """Every field survives the store; an id that nobody has kept leads to nothing."""
    assert ports.announcements.get(announcement.id) is None
    ports.announcements.create(announcement)

    assert ports.announcements.get(announcement.id) == announcement


def test_an_id_is_kept_once(ports: Ports) -> None:
    """The second announcement with it is refused, and changes nothing."""
    ports.announcements.create(KEPT)
    with pytest.raises(ConditionFailed, match="row"):
        ports.announcements.create(replace(KEPT, contract="other"))

    assert ports.announcements.get(KEPT.id) == KEPT


def test_announcements_of_a_contract_are_listed_until_data_lands(ports: Ports) -> None:
    """The newest first, from a place on, and no longer than a week; a link takes one out, once."""
    made = [
        replace(
            KEPT, id=f"{at}" * 64, key=f"{at}", until=f"2026-01-05T12:1{at}:00Z", contract="x" if at == 4 else "shop"
        )
        for at in range(5)
    ]
    for each in made:
        ports.announcements.create(each)
    source = SourceObject("landing", "1", "v1", "e", 1, "")
    row = Workload(made[1].id, source, State.JOINED, None, joined="f" * 64)
    now = made[0].at
    whole, rest = ports.announcements.latest("shop", now, 9, "")
    first, place = ports.announcements.latest("shop", now, 2, "")
    second, end = ports.announcements.latest("shop", now, 2, place)
    ports.announcements.link(row)
    with pytest.raises(ConditionFailed, match="row"):
        ports.announcements.link(row._replace(joined="e" * 64))
    linked, _ = ports.announcements.latest("shop", now, 9, "")
    late, _ = ports.announcements.latest("shop", now + timedelta(days=7, minutes=2), 9, "")

    assert ([*whole], rest) == ([made[3], made[2], made[1], made[0]], "")
    assert ([*first, *second], end) == ([*whole], "")
    assert (linked, late) == ((made[3], made[2], made[0]), (made[3], made[2]))
    assert (ports.announcements.get(made[1].id), ports.workloads.get(made[1].id)) == (made[1], row)


def test_the_first_request_with_a_key_is_kept(ports: Ports) -> None:
    """Later ones are answered with it, whatever they ask; another key has another request."""
    first, second = KeptRequest("asked", "one"), KeptRequest("something else", "two")
    answers = [ports.requests.keep(key, each, UNTIL) for key, each in (("a", first), ("a", second), ("b", second))]

    assert answers == [first, first, second]


def test_what_a_token_is_for_is_found_by_its_hash(ports: Ports) -> None:
    """Every field survives the store; kept again it is the same, and another hash leads to nothing."""
    token = CallbackToken("0" * 64, 3, "webhook:lakegate-channel-erp", UNTIL)
    for _ in range(2):
        ports.callbacks.keep("1" * 64, token)

    assert (ports.callbacks.get("1" * 64), ports.callbacks.get("2" * 64)) == (token, None)


VALIDATION = Validation("0" * 64, "f", "shop", "r", "p", "s", '{"ä": 1}', "l", "d", "2126-01-05T00:00:00.000000Z")


def test_a_validation_is_written_once_and_replaced_as_it_was_read(ports: Ports) -> None:
    """Of two who create or replace it, the second one is refused and changes nothing."""
    first, second = (replace(VALIDATION, lease=each) for each in ("", "later"))
    absent = ports.validations.get(VALIDATION.id)
    ports.validations.create(VALIDATION)
    with pytest.raises(ConditionFailed, match="row"):
        ports.validations.create(first)
    ports.validations.replace(VALIDATION, first)
    with pytest.raises(ConditionFailed, match="row"):
        ports.validations.replace(VALIDATION, second)

    assert (absent, ports.validations.get(VALIDATION.id)) == (None, first)


def test_a_run_leads_to_the_validation_that_has_it(ports: Ports) -> None:
    """Neither an earlier run of it, nor one that nobody has."""
    other = replace(VALIDATION, run="other")
    ports.validations.create(VALIDATION)
    before = ports.validations.running("r")
    ports.validations.replace(VALIDATION, other)

    assert (before, ports.validations.running("r")) == (VALIDATION, None)
    assert (ports.validations.running("other"), ports.validations.running("nobody's")) == (other, None)

"""The event of a finished delivery."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Lakegate


def message(lakegate: Lakegate) -> Any:
    (pending,) = lakegate.dependencies.outbox.pending(10)
    return json.loads(pending.body)


@pytest.mark.parametrize(("failing", "published", "rejected", "failed"), [(0, 4, 0, 0), (2, 0, 4, 1)])
def test_an_event_counts_rows_and_checks(
    lakegate: Lakegate, failing: int, published: int, rejected: int, failed: int
) -> None:
    """The event of a judged delivery counts published and rejected rows, and checks by status."""
    lakegate.routed()
    lakegate.delivered(failing)
    body = message(lakegate)

    assert {name: body[name] for name in ("rows", "published_rows", "rejected_rows", "checks")} == {
        "rows": 4,
        "published_rows": published,
        "rejected_rows": rejected,
        "checks": {"pass": 3 - failed, "warn": 0, "fail": failed, "error": 0, "skip": 0},
    }


def test_a_refusal_at_the_door_counts_nothing(lakegate: Lakegate) -> None:
    """Where nothing was measured there are no rows and no checks to count."""
    lakegate.routed()
    lakegate.upload(body=b"")
    lakegate.intake()
    body = message(lakegate)

    assert [body[name] for name in ("rows", "published_rows", "rejected_rows", "checks")] == [None] * 4


def test_the_same_content_again_is_rejected_with_all_its_rows(lakegate: Lakegate) -> None:
    """A duplicate that is found only when its content is claimed is counted as rejected."""
    lakegate.routed()
    first, second = lakegate.upload(name="a.csv"), lakegate.upload(name="b.csv")
    lakegate.intake("orders/a.csv")
    lakegate.intake("orders/b.csv")
    lakegate.answer(first)
    lakegate.answer(second)
    bodies = [json.loads(each.body) for each in lakegate.dependencies.outbox.pending(10)]

    assert {each["workload"]: (each["published_rows"], each["rejected_rows"]) for each in bodies} == {
        first: (4, 0),
        second: (0, 4),
    }

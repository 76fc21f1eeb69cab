"""`lakegate replay`: a landing key selects the upload, the command is idempotent, and its output names the replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.gate.delivery import find_deliveries
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.find_deliveries import Delivery
from lakegate.gate.delivery.protocol import State
from tests.unit.cli.conftest import Lakegate

KEY = "orders/bad.csv"


def rejected_delivery(lakegate: Lakegate, body: bytes = b"id,amount\n,1\nb,2\nc,3\nd,4\n") -> str:
    return lakegate.delivered(failing=1, body=body, name="bad.csv")


def workloads(lakegate: Lakegate) -> int:
    items = lakegate.clients["dynamodb"].scan(TableName="workloads", ConsistentRead=True)["Items"]
    return sum(each["id"]["S"].startswith("workload#") for each in items)


def meanwhile(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    left = list(steps)
    monkeypatch.setattr(SystemClock, "sleep", lambda _clock, _seconds: left.pop(0)() if left else None)


def test_a_key_that_is_replayed_twice_is_judged_again_once(lakegate: Lakegate) -> None:
    """The second time the key still selects the upload: the same replay is named, and nothing is started."""
    lakegate.routed()
    upload = rejected_delivery(lakegate)
    first, second = lakegate.json("replay", KEY), lakegate.json("replay", KEY)
    judged = replay_id(upload)

    assert first == {"workload": judged, "replay_of": upload, "state": "VALIDATING", "started": True, "chosen": None}
    assert second == {"workload": judged, "replay_of": upload, "state": "VALIDATING", "started": False, "chosen": None}
    assert workloads(lakegate) == 2
    assert lakegate.ok("replay", KEY) == (
        f"{judged} is being judged already (VALIDATING); nothing more was started.\nlakegate status {judged[:12]}\n"
    )


@pytest.mark.parametrize(("failing", "state"), [(0, "published"), (1, "quarantined")])
def test_a_key_with_a_finished_replay_is_reported(lakegate: Lakegate, failing: int, state: str) -> None:
    """Asking again after the replay has ended starts no replay of the replay; the output explains how to start one."""
    lakegate.routed()
    upload = rejected_delivery(lakegate)
    judged = lakegate.json("replay", KEY)["workload"]
    lakegate.answer(judged, failing)
    result = lakegate.ok("replay", KEY).splitlines()

    assert result[:2] == [
        f"{upload} was replayed before, by {judged}: {state}. Nothing was started.",
        f"lakegate status {judged[:12]}",
    ]
    assert result[2:] == ([f"To judge what came of it again: lakegate replay {judged}"] if failing else [])
    assert lakegate.json("replay", KEY)["started"] is False
    assert workloads(lakegate) == 2


def test_what_came_of_a_replay_is_replayed_by_its_own_id(lakegate: Lakegate) -> None:
    """A second corrected contract is a second decision; its id is given whole or by its beginning."""
    lakegate.routed()
    rejected_delivery(lakegate)
    judged = lakegate.json("replay", KEY)["workload"]
    lakegate.answer(judged, failing=1)

    assert lakegate.json("replay", judged[:12]) == {
        "workload": replay_id(judged),
        "replay_of": judged,
        "state": "VALIDATING",
        "started": True,
        "chosen": None,
    }


def test_a_failed_delivery_that_is_replayed_twice_is_revived_once(lakegate: Lakegate) -> None:
    """The second person gets the same id, and that it is in progress."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    lakegate.fail(workload)
    first, second = lakegate.json("replay", "orders/day.csv"), lakegate.json("replay", "orders/day.csv")

    assert (first["started"], second) == (True, first | {"started": False})
    assert lakegate.dependencies.workloads.get(workload).attempt == 2


def test_status_and_reasons_of_a_key_show_the_upload_and_name_its_replay(lakegate: Lakegate) -> None:
    """The same name means the same delivery in every command."""
    lakegate.routed()
    upload = rejected_delivery(lakegate)
    judged = lakegate.json("replay", KEY)["workload"]

    assert lakegate.json("status", KEY)["workload"] == upload
    assert lakegate.json("status", KEY)["replayed_by"] == judged
    assert f"  replayed  by {judged}: validating" in lakegate.ok("status", KEY)
    assert lakegate.json("status", judged)["replay_of"] == upload
    assert lakegate.json("reasons", KEY)["workload"] == upload


def test_a_key_selects_the_newest_of_several_uploads(lakegate: Lakegate) -> None:
    """Not for the replay of an older one, which is newer than that."""
    lakegate.routed()
    older = rejected_delivery(lakegate)
    newer = rejected_delivery(lakegate, b"id,amount\n,9\n")
    lakegate.json("replay", older)

    assert lakegate.json("replay", KEY)["replay_of"] == newer


def test_an_upload_too_old_for_the_list_is_found_through_its_replay(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key leads to what was uploaded, however many replays lie in between."""
    lakegate.routed()
    upload = rejected_delivery(lakegate)
    first = lakegate.json("replay", KEY)["workload"]
    lakegate.answer(first, failing=1)
    lakegate.json("replay", first)
    latest = find_deliveries.recent

    def without_the_upload(*given: Any) -> tuple[Delivery, ...]:
        return tuple(each for each in latest(*given) if each.row and each.row.replay_of)

    monkeypatch.setattr(find_deliveries, "recent", without_the_upload)

    assert lakegate.json("replay", KEY) == {
        "workload": first,
        "replay_of": upload,
        "state": "QUARANTINED",
        "started": False,
        "chosen": None,
    }


def test_a_landing_address_is_a_key(lakegate: Lakegate) -> None:
    """As `upload` and `status` print it."""
    lakegate.routed()
    upload = rejected_delivery(lakegate)

    assert lakegate.json("status", f"s3://lakegate-landing/{KEY}")["workload"] == upload
    assert lakegate.json("status", upload.upper())["workload"] == upload
    assert lakegate.json("status", upload[:8].upper())["workload"] == upload


def test_what_was_not_taken_in_yet_has_nothing_to_replay(lakegate: Lakegate) -> None:
    """One sentence, and no new workload."""
    lakegate.routed()
    lakegate.upload()

    assert str(lakegate("replay", "orders/day.csv").exception).startswith("it landed and was not taken in yet")
    assert workloads(lakegate) == 0


@pytest.mark.parametrize(
    ("failing", "code", "verdict"), [(0, 0, "accepted"), (1, 1, "rejected")], ids=["accepted", "rejected"]
)
def test_the_wait_ends_with_what_became_of_the_replay(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, failing: int, code: int, verdict: str
) -> None:
    """Exit code as of `upload --wait`; the JSON output has all fields of `status`, and the seconds."""
    lakegate.routed()
    judged = replay_id(rejected_delivery(lakegate))
    meanwhile(monkeypatch, lambda: lakegate.answer(judged, failing))
    result = lakegate("replay", KEY, "--wait")
    again = lakegate("replay", KEY, "--wait", "--json")

    assert (result.exit_code, again.exit_code) == (code, code)
    assert f"{judged} is being judged (VALIDATING)." in result.stdout
    assert "s from replay to verdict, " in result.stdout
    assert f'"verdict": "{verdict}"' in again.stdout
    assert '"started": false' in again.stdout


def test_a_wait_for_a_replay_that_fails_has_no_verdict(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3."""
    lakegate.routed()
    judged = replay_id(rejected_delivery(lakegate))
    meanwhile(monkeypatch, lambda: lakegate.fail(judged))

    assert lakegate("replay", KEY, "--wait").exit_code == 3
    assert lakegate.dependencies.workloads.get(judged).state is State.FAILED


def test_the_version_to_judge_by_may_be_abbreviated(lakegate: Lakegate) -> None:
    """Its contract is found by the beginning of its id, as in other commands; what is no version is refused as it was written."""
    lakegate.routed()
    workload = lakegate.delivered(1)
    lakegate.ok("publish", lakegate.contract("1.1.0"))
    refused = lakegate("replay", workload, "--contract", "1.0.0")
    result = lakegate.json("replay", workload, "--contract", "sho@1.0.0")

    assert str(refused.exception).startswith("`1.0.0` is no published version: write CONTRACT@VERSION")
    assert result["chosen"] == {"line": "shop/orders_v1", "version": "1.0.0"}

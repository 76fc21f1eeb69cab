"""`lakegate waive` and `lakegate replay --contract`: what a person reads, and what others read afterwards."""

from __future__ import annotations

from lakegate.gate.datasets.pauses import pause
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.effects import run
from tests.unit.cli.conftest import Lakegate

ROOT = "arn:aws:sts::123456789012:user/moto"
REASON = "the supplier corrects it"
DAY = "2027-01-31"


def rejected(lakegate: Lakegate) -> str:
    lakegate.routed()
    return lakegate.delivered(failing=1, body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")


def test_a_waived_delivery_is_accepted_and_everybody_reads_why(lakegate: Lakegate) -> None:
    """The answer, status, reasons, log and the folder of a consumer name the waiver; a second command starts nothing."""
    upload = rejected(lakegate)
    waived = replay_id(upload)
    answer = lakegate.json("waive", "orders/day.csv", "--reason", REASON, "--expires", DAY)
    actor = answer["waiver"]["actor"]
    waiver = {"actor": actor, "reason": REASON, "expires": f"{DAY}T00:00:00.000000Z", "rejected": upload}
    status = lakegate.json("status", waived)
    (block,) = [each for each in lakegate.json("log", "orders_v1")["blocks"] if each.get("workload") == waived]
    got = lakegate.json("get", "orders_v1", str(lakegate.folder / "data"))

    assert answer == {
        "workload": waived,
        "state": "PUBLISHED",
        "verdict": "accepted_with_warnings",
        "waiver": waiver,
        "started": True,
    }
    assert actor.startswith("arn:aws:")
    assert (status["verdict"], status["waiver"], status["replay_of"]) == (
        "accepted_with_warnings",
        waiver | {"expired": False},
        upload,
    )
    assert status["reasons"][0] == f"waived: {REASON} (until {DAY}, by {actor})"
    assert (status["published_rows"], status["rejected_rows"]) == (4, 0)
    assert block["waiver"] == waiver
    assert [each["waiver"] for each in got["deliveries"]] == [waiver]
    assert f"waived: {REASON}" in lakegate.ok("reasons", waived)
    assert f"waived  height 2: {REASON} (until {DAY}, by {actor})" in lakegate.ok(
        "get", "orders_v1", str(lakegate.folder / "data")
    )
    assert "accepted_with_warnings (waived)" in lakegate.ok("log", "orders_v1")
    assert f"    waived  by {waived}: published" in lakegate.ok("status", "orders/day.csv")
    assert f"    waives  {upload}" in lakegate.ok("status", waived)
    assert lakegate.ok("waive", upload, "--reason", "x", "--expires", DAY).splitlines()[:2] == [
        f"{upload} was waived before; nothing was started: published, as {waived}.",
        f"{REASON} (until {DAY} 00:00:00 UTC, by {actor})",
    ]
    assert f"{upload} was waived before, by {waived}: published." in lakegate.ok("replay", "orders/day.csv")


def test_a_waiver_of_a_paused_line_waits(lakegate: Lakegate) -> None:
    """There is no verdict yet: the exit code is 3."""
    rejected(lakegate)
    (line,) = {each["line"] for each in lakegate.json("route", "list")["routes"]}
    run(pause(lakegate.dependencies, line, "a reason"), lakegate.dependencies.clock)
    result = lakegate("waive", "orders/day.csv", "--reason", REASON, "--expires", DAY)

    assert (result.exit_code, "is waived: held" in result.stdout) == (3, True)


def test_what_cannot_be_waived_is_refused_in_words(lakegate: Lakegate) -> None:
    """An accepted delivery, and a day that is past."""
    lakegate.routed()
    lakegate.delivered()
    accepted = lakegate("waive", "orders/day.csv", "--reason", REASON, "--expires", DAY)
    past = lakegate("waive", "orders/day.csv", "--reason", REASON, "--expires", "2020-01-01")

    assert "only a quarantined delivery can be waived" in str(accepted.exception)
    assert "a waiver expires after now, and within 366 days" in str(past.exception)


def test_a_replay_names_the_version_that_a_person_chose(lakegate: Lakegate) -> None:
    """The command and the status name it; one that is not published is refused."""
    upload = rejected(lakegate)
    lakegate.ok("publish", lakegate.contract("1.1.0"))
    lakegate.json("replay", "orders/day.csv", "--contract", "shop@1.0.0")
    judged = replay_id(upload)
    again = lakegate.json("replay", "orders/day.csv", "--contract", "shop@1.1.0")
    status = lakegate.json("status", judged)

    assert (again["started"], again["chosen"]) == (False, {"line": "shop/orders_v1", "version": "1.0.0"})
    assert (status["contract"], status["chosen"]) == (
        {"id": "shop", "version": "1.0.0", "line": "shop/orders_v1"},
        True,
    )
    assert "shop/orders_v1 1.0.0, chosen for this replay" in lakegate.ok("status", judged)
    assert f"{judged} is being judged already by shop/orders_v1 1.0.0 (VALIDATING)" in lakegate.ok("replay", upload)


def test_many_are_replayed_by_one_version(lakegate: Lakegate) -> None:
    """The version holds for each; where it does not fit, the delivery is listed as refused."""
    upload = rejected(lakegate)
    lakegate.ok("publish", lakegate.contract("1.1.0"))
    refused = lakegate("replay", "--state", "QUARANTINED", "--contract", "shop@9.0.0", "--json")
    many = lakegate.json("replay", "--state", "QUARANTINED", "--contract", "shop@1.0.0")
    row = lakegate.dependencies.workloads.get(replay_id(upload))

    assert (refused.exit_code, many["started"]) == (3, 1)
    assert (row.chosen and row.chosen.version, row.pin and row.pin.version) == ("1.0.0", "1.0.0")

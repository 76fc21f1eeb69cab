"""`lakegate status`, `reasons` and `replay`: what became of a delivery, and why."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from lakegate.cli import terminal
from lakegate.cli.deliveries.status_command import WAITS
from lakegate.gate.delivery.delivery_row import CAUSE_TEXTS, FailureCause, WaitsFor, replay_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.lake_layout import attempt_prefix, row_key
from lakegate.gate.ports import Address
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING

BAD = {"failing": 1, "body": b"id,amount\n,1\nb,2\nc,3\nd,4\n", "name": "bad.csv"}


def test_the_latest_deliveries_are_a_table(lakegate: Lakegate) -> None:
    """File, contract and version, verdict, checks, rows, seconds, and where the data is: the newest first."""
    lakegate.routed()
    good, bad = lakegate.delivered(), lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    head, *rows = lakegate.ok("status").splitlines()

    assert head.split("  ")[0] == "workload"
    assert [row.split()[:2] for row in rows] == [[bad[:12], "orders/bad.csv"], [good[:12], "orders/day.csv"]]
    assert "orders_v1 1.0.0  Rejected  2 passed, 1 failed     4" in rows[0]
    assert rows[1].rstrip().endswith(" accepted/shop/orders_v1/")


def test_a_long_contract_id_is_cut_in_the_table(lakegate: Lakegate) -> None:
    """Every answer about one delivery contains the whole id."""
    lakegate.ok("publish", lakegate.contract(**{"id: shop": "id: shop-of-the-long-name"}))
    lakegate.ok("route", "add", "orders/", "shop-of-the-long-name")
    workload = lakegate.delivered()

    assert " accepted/shop-of-the-…/orders_v1/" in lakegate.ok("status")
    assert "accepted/shop-of-the-long-name/orders_v1/ingest_date=" in lakegate.ok("status", workload)


def test_the_folder_of_an_announced_delivery_is_cut_in_the_table(lakegate: Lakegate) -> None:
    """Every answer about one delivery contains the whole key."""
    lakegate.routed()
    key = f"orders/{'0123456789abcdef' * 4}/day.csv"
    workload = lakegate.json("upload", lakegate.file(), "--to", key)["workload"]
    lakegate.intake(key)

    assert " orders/0123456789ab…/day.csv " in lakegate.ok("status")
    assert lakegate.json("status", workload)["key"] == key


def test_machines_get_every_delivery_whole(lakegate: Lakegate) -> None:
    """One document, the same for each delivery; a single one is not in a list."""
    lakegate.routed()
    workload = lakegate.delivered()
    (listed,) = lakegate.json("status")["deliveries"]

    assert listed == lakegate.json("status", workload)
    assert (listed["state"], listed["verdict"], listed["rows"]) == ("PUBLISHED", "accepted", 4)
    assert listed["counts"] == {"pass": 3, "warn": 0, "fail": 0, "error": 0, "skip": 0}
    assert listed["contract"] == {"id": "shop", "version": "1.0.0", "line": "shop/orders_v1"}
    assert listed["where"][0].startswith(f"s3://{LAKE}/accepted/shop/orders_v1/ingest_date=")
    assert listed["seconds"] >= 0


def test_an_open_delivery_shows_its_state(lakegate: Lakegate) -> None:
    """Before anybody has seen it, and while its job runs, the data is where it landed."""
    lakegate.routed()
    workload = lakegate.upload()
    before = lakegate.ok("status").splitlines()[1]
    lakegate.intake()
    after = lakegate.json("status", workload)

    assert "landed, not yet taken in" in before
    assert (after["state"], after["verdict"], after["counts"]) == ("VALIDATING", None, None)
    assert after["where"] == [f"s3://{LANDING}/orders/day.csv"]


def test_an_early_rejection_has_a_reason(lakegate: Lakegate) -> None:
    """A key without a route: the code, and what to do about it."""
    lakegate.routed()
    workload = lakegate.json("upload", lakegate.file(), "--to", "orders/")["workload"]
    lakegate.ok("route", "remove", "orders/")
    lakegate.intake()
    result = lakegate.ok("reasons", workload)

    assert "unrouted: no route covers this key" in result
    assert "none" in lakegate.ok("status").splitlines()[1]


def test_the_same_content_again_is_refused_as_such(lakegate: Lakegate) -> None:
    """Byte for byte the same, under the same key: a second delivery, with its reason."""
    lakegate.routed()
    lakegate.delivered()
    again = lakegate.upload()
    lakegate.intake()
    if lakegate.json("status", again)["verdict"] is None:
        lakegate.answer(again)

    assert "the very same content was accepted before" in lakegate.ok("status", again)


def test_the_reasons_name_rule_field_and_rows(lakegate: Lakegate) -> None:
    """As `check` prints it: wanted, measured, failing rows, and where, masked."""
    lakegate.routed()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    result = lakegate.ok("reasons", "orders/bad.csv")

    assert f"orders/bad.csv (workload {workload})" in result
    assert (
        "fail  id:required:1  id\n      wanted present; measured 1 of 4 rows fails (25 %)\n      row 3 (null)\n\n"
        "Rejected: 4 rows, 1 of them breaks a rule\norders/bad.csv as orders, contract shop 1.0.0, in 0.0 s\n"
        "Checks: 2 passed, 1 failed\n"
    ) in result
    # bad.csv would overwrite the file that was delivered
    assert f"\nNext: lakegate reasons {workload[:12]} --rows bad1.csv\n" in result
    assert f"The data is at s3://{LAKE}/quarantine/shop/orders_v1/" in result


def test_machines_get_every_check(lakegate: Lakegate) -> None:
    """All fields of `status`, and the checks as `check --json` has them."""
    lakegate.routed()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    result = lakegate.json("reasons", workload)
    failed = [each for each in result["checks"] if each["status"] == "fail"]

    assert set(result) - set(lakegate.json("status", workload)) == {"checks", "timings"}
    assert [(each["field"], each["failing_rows"], each["samples"]) for each in failed] == [
        ("id", 1, [{"file": "orders/bad.csv", "part": 0, "row": 3, "values": [None], "masked": [False]}])
    ]


def test_reasons_are_written_to_pass_on(lakegate: Lakegate, tmp_path: Path) -> None:
    """A page with the latest deliveries of the dataset, masked."""
    lakegate.routed()
    lakegate.delivered()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    page = tmp_path / "why.html"
    result = lakegate.ok("reasons", workload, "--report", str(page))
    text = page.read_text()

    assert "why.html: report written" in " ".join(result.split())
    assert "Broken rules by delivery, oldest first: Accepted 0, Rejected 1" in text
    assert f"<dt>Workload</dt><dd>{workload}</dd>" in text
    assert re.search(
        r"<dt>Taken in</dt><dd>[-0-9]{10} [:0-9]{8} UTC</dd>\s<dt>Completed</dt><dd>[-0-9]{10} [:0-9]{8} UTC, after",
        text,
    )
    assert result.splitlines()[-2] == f"Next: lakegate reasons {workload[:12]} --rows bad1.csv"


def test_failing_rows_are_fetched_whole(lakegate: Lakegate, tmp_path: Path) -> None:
    """Found again in quarantine by the plan that rejected the delivery: as they came, with their place and reasons."""
    lakegate.routed()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    rows = tmp_path / "rows.csv"
    result = lakegate.ok("reasons", workload, "--rows", str(rows))

    assert "rows.csv: 1 row written" in " ".join(result.split())
    assert rows.read_text() == '_row,_part,_reasons,id,amount\n2,0,"id:required:1/id",,1\n'


def test_of_what_was_accepted_no_row_is_fetched(lakegate: Lakegate, tmp_path: Path) -> None:
    """One sentence, and no file."""
    lakegate.routed()
    result = lakegate("reasons", lakegate.delivered(), "--rows", str(tmp_path / "rows.csv"))

    assert str(result.exception) == "nothing is in quarantine of orders/day.csv: all of it was accepted, or erased"
    assert not (tmp_path / "rows.csv").exists()


def test_status_names_the_report_that_the_gate_wrote(lakegate: Lakegate, tmp_path: Path) -> None:
    """The address of a finished delivery; `--report` writes the same page, of a delivery refused at the door too."""
    lakegate.routed()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    refused = lakegate.upload(name="empty.csv", body=b"")
    lakegate.intake("orders/empty.csv")
    page = tmp_path / "why.html"

    assert f"runs/{workload}/report.html" in lakegate.ok("status", workload)
    assert lakegate.json("status", workload)["report"].endswith(f"/runs/{workload}/report.html")
    words = lakegate.ok("reasons", refused, "--report", str(page))
    assert "Rejected: its rows were not read" in page.read_text()
    assert "Next: correct the file, and deliver the whole of it again" in words


def test_a_corrected_file_is_compared_with_a_delivery(lakegate: Lakegate) -> None:
    """By its landing key or its id; one that was refused at the door is compared by its reasons."""
    lakegate.routed()
    lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    refused = lakegate.upload(name="empty.csv", body=b"")
    lakegate.intake("orders/empty.csv")
    lakegate.upload(name="waiting.csv")
    words = ("check", "--contract", lakegate.contract(), lakegate.file(), "--against")

    assert "1 fixed, 0 still broken, 0 newly broken" in " ".join(lakegate.ok(*words, "orders/bad.csv").split())
    assert "fixed: file/rows" in lakegate.ok(*words, refused)
    assert "was not judged yet" in str(lakegate(*words, "orders/waiting.csv").exception)


def test_failing_rows_are_shown_as_many_as_asked_for(lakegate: Lakegate) -> None:
    """`--samples 0` shows none."""
    lakegate.routed()
    lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words

    assert "row 3" not in lakegate.ok("reasons", "orders/bad.csv", "--samples", "0")


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("--report", "why.html", "nothing was decided on"),
        ("--rows", "rows.csv", "nothing is in quarantine of"),
    ],
)
def test_nothing_is_written_of_what_was_not_measured(
    lakegate: Lakegate, tmp_path: Path, option: str, name: str, words: str
) -> None:
    """A delivery that its job still reads has no reasons to write; the message names its state."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    answer = lakegate("reasons", workload, option, str(tmp_path / name))

    assert answer.exit_code != 0
    assert f"{words} orders/day.csv" in str(answer.exception)
    assert "validating" in str(answer.exception)
    assert not (tmp_path / name).exists()


def test_without_a_measurement_there_are_no_checks(lakegate: Lakegate) -> None:
    """What was refused at the door, or is on its way, has reasons at most."""
    lakegate.routed()
    workload = lakegate.upload()
    result = lakegate.json("reasons", workload[:12])

    assert (result["checks"], result["timings"], result["reasons"]) == ([], {}, [])


def test_a_failed_delivery_shows_the_result_of_its_last_job(lakegate: Lakegate) -> None:
    """A rule that could not be measured left no verdict; its error is shown, and the data stays where it landed."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    lakegate.answer(workload, error="the job could not measure this")
    attempt = lakegate.dependencies.workloads.get(workload).attempt
    lakegate.fail(workload, attempt - 1)
    result = lakegate("reasons", workload)

    assert "error id:required:1  id\n      the job could not measure this\n" in result.stdout
    assert f"The data is at s3://{LANDING}/orders/day.csv" in result.stdout


def test_a_failed_delivery_is_replayed(lakegate: Lakegate) -> None:
    """The same workload starts again, its attempts counted on."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    lakegate.fail(workload)
    result = lakegate.json("replay", workload)

    assert result == {"workload": workload, "replay_of": None, "state": "VALIDATING", "started": True, "chosen": None}
    assert lakegate.dependencies.workloads.get(workload).attempt == 2


def test_a_quarantined_delivery_is_replayed_from_its_copy(lakegate: Lakegate) -> None:
    """A new workload, found beside the old one; asked twice it is the same."""
    lakegate.routed()
    workload = lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    first = lakegate.ok("replay", workload[:12])
    again = replay_id(workload)

    assert first == f"{again} is being judged (VALIDATING).\nlakegate status {again[:12]}\n"
    assert lakegate.json("replay", workload)["workload"] == again
    assert lakegate.json("status", again)["where"][0].startswith(f"s3://{LAKE}/quarantine/")
    assert f"   replays  {workload}" in lakegate.ok("status", again)


def test_what_was_accepted_is_not_replayed(lakegate: Lakegate) -> None:
    """One sentence."""
    lakegate.routed()
    workload = lakegate.delivered()

    assert str(lakegate("replay", workload).exception) == "only a failed or quarantined workload can be replayed"


def test_a_plan_that_is_missing_hides_no_delivery(lakegate: Lakegate) -> None:
    """The list stays readable at 3 a.m.; the problem is named where one looks closer."""
    lakegate.routed()
    workload = lakegate.delivered()
    pin = lakegate.dependencies.workloads.get(workload).pin
    assert pin is not None
    lakegate.dependencies.objects.delete(Address(LAKE, f"plans/{pin.plan}.json"))
    result = lakegate.json("status", workload)

    assert "Accepted" in lakegate.ok("status").splitlines()[1]
    assert (result["problem"], result["counts"]) == (f"plan-missing @ {workload}", None)
    assert f"plan-missing @ {workload} (docs/operator.md)" in lakegate.ok("reasons", workload)


def test_a_result_that_is_another_hides_no_delivery(lakegate: Lakegate) -> None:
    """Somebody overwrote it: the decision is unchanged, and the result is not shown as if it were the judged one."""
    lakegate.routed()
    workload = lakegate.delivered()
    put_result(lakegate, workload)

    assert lakegate.json("status", workload)["problem"] == f"result-differs @ {workload}"


def test_a_failed_delivery_whose_result_is_none_is_still_shown(lakegate: Lakegate) -> None:
    """The job wrote something that is not a result: that is why it failed."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    put_result(lakegate, workload)
    lakegate.fail(workload)

    assert lakegate.json("status", workload)["problem"] == "result.json is not JSON"


def put_result(lakegate: Lakegate, workload: str) -> None:
    attempt = lakegate.dependencies.workloads.get(workload).attempt
    lakegate.dependencies.objects.put(Address(LAKE, f"{attempt_prefix(workload, attempt)}/result.json"), b"no JSON")


def test_an_empty_stack_is_reported(lakegate: Lakegate) -> None:
    """No deliveries: a sentence for people, an empty list for machines."""
    assert lakegate.ok("status") == "Nothing has landed yet.\n"
    assert lakegate.json("status") == {"deliveries": []}


def test_a_key_cannot_write_on_the_terminal(lakegate: Lakegate) -> None:
    """Escapes, markup and line breaks of a key are shown, never obeyed."""
    lakegate.routed()
    name = "\u202e[red]\u2028x\x9b31m.csv"
    workload = lakegate.json("upload", lakegate.file(), "--to", "orders/", "--as", name)["workload"]
    lakegate.intake(f"orders/{name}")
    lakegate.answer(workload, failing=1)
    result = [lakegate(*words).output for words in (("status",), ("status", workload), ("reasons", workload))]

    for text in result:
        assert r"\u202e[red]\u2028x\x9b31m.csv" in text
        assert not {"\u202e", "\u2028", "\x9b"} & set(text)


def test_a_narrow_terminal_gets_a_table_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal its own width counts; in a file or a pipe nothing is folded."""
    narrow = Console(width=80, force_terminal=True)
    assert terminal.wide().width == terminal.WIDE > 1_024
    monkeypatch.setattr(terminal, "standard_output", lambda: narrow)

    assert terminal.wide() is narrow


def test_a_document_of_a_later_version_is_still_read_as_decided(lakegate: Lakegate) -> None:
    """The verdict shown is the one that was decided, not one computed today."""
    lakegate.routed()
    workload = lakegate.delivered()
    lakegate.overwrite(workload, lambda row: row["decision"].update(verdict="accepted_with_warnings"))

    assert json.loads(lakegate("reasons", workload, "--json").stdout)["verdict"] == "accepted_with_warnings"
    assert "Accepted with warnings: 4 rows" in lakegate.ok("reasons", workload)


def listed(lakegate: Lakegate, *words: str) -> list[str]:
    return [each["key"] for each in lakegate.json("status", *words)["deliveries"]]


def many(lakegate: Lakegate) -> None:
    """One accepted, one rejected, one without a route, one on its way; of two contracts."""
    lakegate.begin(_many)


def _many(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract(**{"id: shop": "id: store", "name: orders": "name: stock"}))
    lakegate.ok("route", "add", "stock/", "store")
    lakegate.delivered()
    lakegate.delivered(**BAD)  # type: ignore[arg-type] # an upload's own words
    for key in ("stock", "elsewhere"):
        lakegate("upload", lakegate.file(f"id,amount\n{key},1\n".encode(), name=f"{key}.csv"), "--to", f"{key}/")
        lakegate.intake(f"{key}/{key}.csv")


FILTERED = {
    "--verdict accepted": ["orders/day.csv"],
    "--verdict rejected": ["elsewhere/elsewhere.csv", "orders/bad.csv"],
    "--verdict none": ["stock/stock.csv"],
    "--verdict accepted --verdict none": ["orders/day.csv", "stock/stock.csv"],
    "--contract shop": ["orders/bad.csv", "orders/day.csv"],
    "--contract store": ["stock/stock.csv"],
    "--contract orders": ["orders/bad.csv", "orders/day.csv"],
    "--contract store/stock_v1": ["stock/stock.csv"],
    "--contract _unrouted": ["elsewhere/elsewhere.csv"],
    "--contract shop --verdict rejected": ["orders/bad.csv"],
    "--contract shop --verdict rejected --limit 1": ["orders/bad.csv"],
    "--day 2001-01-01": [],
}


def test_the_list_is_filtered_by_verdict_contract_and_day(lakegate: Lakegate) -> None:
    """Each filter takes away what is not so, and together they take away what any of them does; today is all of it."""
    many(lakegate)
    today = f" --day {lakegate.dependencies.now:%Y-%m-%d}"
    found = {words: sorted(listed(lakegate, *words.split())) for words in FILTERED}
    of_today = {words: sorted(listed(lakegate, *(today + " " + words).split())) for words in FILTERED}

    assert found == FILTERED
    assert of_today == FILTERED
    assert lakegate.ok("status", "--day", "2001-01-01") == "No delivery is like that.\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--contract", "shpo"], "shpo is not a dataset; similar are `shop/orders_v1`. Did"),
        (["x.csv", "--verdict", "rejected"], "--verdict, --contract and --day choose from the list"),
        (["x.csv", "--contract", "shop"], "--contract is for --api: here the name alone is enough"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(lakegate: Lakegate, words: list[str], expected: str) -> None:
    """An empty list would look like an answer."""
    lakegate.routed()

    assert str(lakegate("status", *words).exception).startswith(expected)


@pytest.mark.parametrize(
    "words", [["--day", "yesterday"], ["--day", "2026-02-30"], ["--verdict", "good"]], ids=" ".join
)
def test_a_filter_that_is_misspelt_is_a_usage_error(lakegate: Lakegate, words: list[str]) -> None:
    """Exit code 2, and what is expected."""
    result = lakegate("status", *words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "%Y-%m-%d" in result.stderr or "accepted_with_warnings" in result.stderr


def test_the_list_has_a_time_of_each_delivery(lakegate: Lakegate) -> None:
    """To the second, in UTC: the time of its end, else of intake, else of landing."""
    many(lakegate)
    lakegate.upload(name="new.csv")
    head, *rows = lakegate.ok("status").splitlines()
    place = head.index("time (UTC)")
    times = {row[14:place].strip(): row[place : place + 19] for row in rows}
    at = {each["key"]: each["at"] for each in lakegate.json("status")["deliveries"]}

    assert times == {key: f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}" for key, text in at.items()}
    assert len(times) == 5


SOON = "2099-11-22 06:00:10 UTC"
CANCELS = "lakegate cancel OWN --reason REASON rejects this one"


def attempted(lakegate: Lakegate, state: State, **also: object) -> str:
    """A delivery whose first attempt came to nothing, brought where the gate would bring it."""
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    failed = {"number": 1, "run": "run-1", "cause": "run-failed", "at": "2026-11-22T06:00:05+00:00"}
    changes = {"state": state, "attempt": 2, "failed": [failed], "not_before": "2026-11-22T06:00:10+00:00", "run": ""}
    lakegate.overwrite(workload, lambda row: row.update(changes | also))
    return workload


@pytest.mark.parametrize(
    ("state", "also", "words"),
    [
        (State.RECEIVED, {"completed_by": "manifest"}, "for its other objects, from its producer"),
        (
            State.HELD,
            {"held": "orders/lines_v1"},
            f"for its dataset orders/lines_v1, which is paused: lakegate resume orders/lines_v1, or {CANCELS}",
        ),
        (State.SUBMITTING, {"batch": "b1"}, f"for other files of its batch, until {SOON} at the latest: {CANCELS}"),
        (
            State.SUBMITTING,
            {"failed": []},
            f"for its start at {SOON}, because job runs start one after the other: {CANCELS}",
        ),
        (State.SUBMITTING, {}, f"for its next attempt at {SOON}: {CANCELS}"),
        (State.VALIDATING, {"run": "run-2"}, f"for its run run-2, until {SOON} at the latest: {CANCELS}"),
    ],
)
def test_what_a_delivery_waits_for_is_told_with_what_may_be_done(
    lakegate: Lakegate, state: State, also: dict[str, object], words: str
) -> None:
    """The sentence names the command by which a person ends the wait, where there is one."""
    times = dict.fromkeys(("not_before", "deadline"), "2099-11-22T06:00:10+00:00")
    workload = attempted(lakegate, state, **(times | also))

    assert f"     waits  {words.replace('OWN', workload[:12])}" in lakegate.ok("status", workload).splitlines()


def test_every_wait_has_words() -> None:
    """None of them ends a list of deliveries with an error."""
    assert WAITS.keys() == set(WaitsFor)


def test_a_failed_attempt_is_shown_with_its_cause_and_the_time_of_the_next(lakegate: Lakegate) -> None:
    """Nobody reads "waiting for its job to start" when the job was killed."""
    workload = attempted(lakegate, State.SUBMITTING)
    lines, result = lakegate.ok("status", workload).splitlines(), lakegate.json("status", workload)

    assert (
        "     state  waiting for its job to start: attempt 2 of 3 at 2026-11-22 06:00:10 UTC; "
        "attempt 1 failed: its job run failed and left no result"
    ) in lines
    assert (
        "   attempt  1 failed at 2026-11-22 06:00:05 UTC: its job run failed and left no result (job run run-1)"
    ) in lines
    assert "waiting for its job to start, attempt 2 of 3" in lakegate.ok("status").splitlines()[1]
    assert (result["attempt"], result["attempts"], result["next_attempt"]) == (2, 3, "2026-11-22T06:00:10+00:00")
    assert result["failed_attempts"] == [
        {"attempt": 1, "run": "run-1", "cause": "run-failed", "at": "2026-11-22T06:00:05+00:00"}
    ]


def test_a_delivery_in_a_batch_is_shown_with_the_time_at_which_its_wait_ends(lakegate: Lakegate) -> None:
    """One delivery, the list, and the document for machines say that it waits for others."""
    workload = attempted(lakegate, State.SUBMITTING, attempt=1, failed=[], batch="b" * 64)
    lines, result = lakegate.ok("status", workload).splitlines(), lakegate.json("status", workload)

    assert "     state  waiting in a batch until 2026-11-22 06:00:10 UTC at the latest" in lines
    assert f"     batch  {'b' * 64}" in lines
    assert "waiting in a batch until" in lakegate.ok("status").splitlines()[1]
    assert (result["batch"], result["next_attempt"]) == ("b" * 64, "2026-11-22T06:00:10+00:00")


def test_a_later_attempt_that_runs_has_no_next_time(lakegate: Lakegate) -> None:
    """It is running; the one before is still shown."""
    workload = attempted(lakegate, State.VALIDATING, run="run-2")
    lines = lakegate.ok("status", workload).splitlines()

    assert (
        "     state  validating: the job is reading and measuring: attempt 2 of 3; "
        "attempt 1 failed: its job run failed and left no result"
    ) in lines
    assert "   job run  run-2, attempt 2 of 3" in lines
    assert lakegate.json("status", workload)["next_attempt"] is None


def test_a_failed_delivery_is_listed_with_its_cause(lakegate: Lakegate) -> None:
    """The list alone shows why no verdict was reached."""
    workload = attempted(lakegate, State.FAILED)

    assert "failed: its job run failed and left no result" in lakegate.ok("status").splitlines()[1]
    assert (
        "     state  failed: no verdict, the data stays where it landed; attempt 1: its job run failed and left no result"
    ) in lakegate.ok("status", workload).splitlines()


@pytest.mark.parametrize("cause", list(FailureCause))
def test_every_cause_of_a_failed_attempt_has_words(cause: FailureCause) -> None:
    """A code is for machines."""
    assert CAUSE_TEXTS[cause].startswith(("its ", "a rule"))


@pytest.mark.parametrize("at_the_door", [True, False])
def test_a_duplicate_names_the_delivery_that_brought_the_content_first(
    lakegate: Lakegate, *, at_the_door: bool
) -> None:
    """Its file, its time, its workload: anyone who asks "of what?" has the answer."""
    lakegate.routed()
    first = lakegate.upload(name="first.csv")
    lakegate.intake("orders/first.csv")
    again = lakegate.upload(name="again.csv")
    if at_the_door:
        lakegate.answer(first)
    lakegate.intake("orders/again.csv")
    if not at_the_door:
        lakegate.answer(first)
        lakegate.answer(again)
    result = lakegate.json("status", again)
    row = lakegate.dependencies.workloads.get(first)
    assert row.pin is not None
    at = f"{datetime.fromisoformat(row.pin.judging_time):%Y-%m-%d %H:%M:%S} UTC"

    assert result["duplicate_of"] == {"workload": first, "key": "orders/first.csv", "at": row.pin.judging_time}
    before = f"the very same content was accepted before: orders/first.csv, taken in {at}, workload {first}"
    assert result["reasons"] == [f"duplicate-content: {before}"]
    assert lakegate.json("status", first)["duplicate_of"] is None
    words = lakegate.ok("reasons", again).splitlines()
    about = "orders/again.csv as orders, contract shop 1.0.0"
    measured = [f"{about}, in 0.0 s", "Checks: 3 passed"]
    assert words == [
        f"orders/again.csv (workload {again})",
        *(["Rejected: no row was measured", about] if at_the_door else ["Rejected: 4 rows", *measured]),
        f"duplicate-content: {before}",
        f"The data is at {result['where'][0]}",
    ]


@pytest.mark.parametrize("is_lost", [True, False], ids=["deleted", "behind a delete marker"])
def test_a_duplicate_of_a_lost_object_names_who_can_use_it(lakegate: Lakegate, is_lost: bool) -> None:  # noqa: FBT001 - drawn
    """The same bytes are refused, and the reason says that they are what is missing; a version behind a marker is not."""
    lakegate.routed()
    lakegate.delivered(name="first.csv")
    (lost,) = lakegate.dependencies.ledger.blocks("shop/orders_v1")[0].objects  # type: ignore[union-attr] # a delivery
    lakegate.dependencies.objects.delete(Address(LAKE, lost.key, lost.version if is_lost else None))
    again = lakegate.upload(name="again.csv")
    lakegate.intake("orders/again.csv")

    (reason,) = lakegate.json("status", again)["reasons"]
    assert reason.endswith("put it back (lakegate verify DATASET --objects, lakegate restore)") is is_lost


def test_a_delivery_whose_row_is_gone_is_listed_as_the_ledger_has_it(lakegate: Lakegate) -> None:
    """A table restored to an earlier time hides no finished delivery; its file is known while the archive has its row."""
    lakegate.routed()
    lakegate.delivered()
    for item in lakegate.clients["dynamodb"].scan(TableName="workloads", ConsistentRead=True)["Items"]:
        lakegate.clients["dynamodb"].delete_item(TableName="workloads", Key={"id": item["id"]})
    (archived,) = lakegate.json("status")["deliveries"]
    lakegate.dependencies.objects.delete(Address(LAKE, row_key(archived["workload"])))
    (result,) = lakegate.json("status")["deliveries"]

    assert (archived["state"], archived["key"], archived["archived"]) == ("PUBLISHED", "orders/day.csv", True)

    assert (result["state"], result["verdict"], result["key"], result["contract"]) == (
        "PUBLISHED",
        "accepted",
        "",
        None,
    )
    assert "Accepted" in lakegate.ok("status").splitlines()[1]


def test_a_name_of_no_delivery_is_not_guessed(lakegate: Lakegate) -> None:
    """In one sentence, with the key that is close; the same in every command."""
    lakegate.routed()
    lakegate.delivered()
    unknown = "none of the latest 200 deliveries is called so: give the whole workload id."
    names = {
        "orders/dya.csv": f"{unknown} Did you mean `orders/day.csv`?",
        "\udcff": unknown,
        "": unknown,
        "0" * 12: unknown,
        "0" * 64: "no workload has this id",
    }
    for command in ("status", "reasons", "replay"):
        assert {name: str(lakegate(command, name).exception) for name in names} == names


def test_a_table_in_a_pipe_is_not_folded(lakegate: Lakegate) -> None:
    """One line for each delivery, however long its key is, so that `grep` and `awk` find it whole."""
    lakegate.routed()
    name = f"{'long-' * 60}.csv"
    lakegate.ok("upload", lakegate.file(), "--to", "orders/", "--as", name)
    lakegate.intake(f"orders/{name}")
    _head, row = lakegate.ok("status").splitlines()

    assert row.split()[1] == f"orders/{name}"
    assert row.rstrip().endswith(" landing")


def test_what_was_delivered_again_says_what_it_replaces(lakegate: Lakegate) -> None:
    """Both deliveries name the other one, for people and machines; `log` and `history` say it, too."""
    lakegate.routed(**{"schema:\n": "customProperties: [{property: lakegate, value: {replaces: delivery}}]\nschema:\n"})
    first, second = lakegate.delivered(body=b"id,amount\na,1\n"), lakegate.delivered(body=b"id,amount\nb,2\n")
    before, after = (lakegate.json("status", each) for each in (first, second))
    log = lakegate.json("log", "orders_v1")["blocks"]
    at = {each["workload"]: each["at"] for each in log}
    texts = [lakegate.ok("status", each) for each in (first, second)]

    assert (before["not_current"], before["superseded_by"]) == (
        "superseded",
        {"workload": second, "height": 1, "at": at[second]},
    )
    assert after["supersedes"] == [{"workload": first, "height": 0, "at": at[first]}]
    assert (before.get("supersedes"), after.get("superseded_by")) == (None, None)
    assert f"no: superseded by the delivery {second[:12]} of {at[second][:10]} (height 1)" in texts[0]
    assert f"the delivery {first[:12]} of {at[first][:10]} (height 0)" in texts[1]
    assert [each.get("supersedes") for each in log] == [[0], None]
    assert "accepted (replaces height 0)" in lakegate.ok("log", "orders_v1")
    history = lakegate.json("history", "orders_v1")["deliveries"]
    assert [(each["not_current"], each.get("supersedes")) for each in history] == [(None, [0]), ("superseded", None)]
    assert "accepted (replaces height 0)" in lakegate.ok("history", "orders_v1")


def test_a_duplicate_of_what_is_not_current_says_how_it_comes_back(lakegate: Lakegate) -> None:
    """Recalled or replaced: delivering the same bytes again is refused, and the person's command is named."""
    lakegate.routed(**{"schema:\n": "customProperties: [{property: lakegate, value: {replaces: delivery}}]\nschema:\n"})
    body = b"id,amount\na,1\n"
    first = lakegate.delivered(body=body)
    by = lakegate.delivered(body=b"id,amount\nb,2\n")
    again = lakegate.upload(body=body, name="again.csv")
    lakegate.intake("orders/again.csv")
    (replaced,) = lakegate.json("status", again)["reasons"]
    lakegate.ok("recall", "orders/day.csv", "--reason", "the wrong month")
    (back,) = lakegate.json("status", again)["reasons"]
    lakegate.ok("recall", first, "--reason", "the wrong year")
    (recalled,) = lakegate.json("status", again)["reasons"]

    at = lakegate.json("status", by)["at"][:10]
    assert replaced.endswith(
        f". It was replaced by {by[:12]} of {at} (height 1): `lakegate recall` of what came in its place gives it back"
    )
    assert "It was" not in back
    assert recalled == f"{back}. It was recalled: `lakegate restore` puts it back"

"""What a corrected delivery improves, check by check."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lakegate.report.delivery_report import BROKEN, CheckChange, CheckFinding, Progress, progress
from lakegate.verdict.check_status import CheckOutcome, Status

FAIL, WARN, PASS, SKIP, ERROR = Status.FAIL, Status.WARN, Status.PASS, Status.SKIP, Status.ERROR


def outcome(name: str, status: Status, rows: int | None = None) -> CheckOutcome:
    return CheckOutcome(name, name, "required", ("n",), status, "", "", rows, "")


def test_each_broken_check_is_in_one_group() -> None:
    """A check that only passed, or was never measured, is in none."""
    before = {
        "fixed": CheckFinding(FAIL, 4),
        "better": CheckFinding(FAIL, 9),
        "worse": CheckFinding(PASS, 0),
        "skipped": CheckFinding(FAIL, 1),
        "removed": CheckFinding(WARN),
        "file/readable": CheckFinding(FAIL),
        "same": CheckFinding(PASS),
        "never": CheckFinding(SKIP),
    }
    now = [
        outcome("fixed", PASS, 0),
        outcome("better", WARN, 2),
        outcome("worse", FAIL, 3),
        outcome("skipped", SKIP),
        outcome("same", PASS),
        outcome("never", ERROR),
    ]

    assert progress(before, now) == Progress(
        fixed=(
            CheckChange("fixed", CheckFinding(FAIL, 4), CheckFinding(PASS, 0)),
            CheckChange("file/readable", CheckFinding(FAIL), None),
        ),
        still_broken=(CheckChange("better", CheckFinding(FAIL, 9), CheckFinding(WARN, 2)),),
        newly_broken=(
            CheckChange("worse", CheckFinding(PASS, 0), CheckFinding(FAIL, 3)),
            CheckChange("never", None, CheckFinding(ERROR)),
        ),
        not_measured=(
            CheckChange("skipped", CheckFinding(FAIL, 1), None),
            CheckChange("removed", CheckFinding(WARN), None),
        ),
    )


STATUSES = st.dictionaries(st.sampled_from(["a", "b", "file/c", "file/d"]), st.sampled_from(Status))


@given(STATUSES, STATUSES)
def test_every_broken_check_is_in_exactly_one_group(before: dict[str, Status], now: dict[str, Status]) -> None:
    """Whatever was measured, nothing is lost and nothing is listed twice."""
    found = progress(
        {name: CheckFinding(each) for name, each in before.items()}, [outcome(name, each) for name, each in now.items()]
    )
    groups = (found.fixed, found.still_broken, found.newly_broken, found.not_measured)
    listed = [each.id for group in groups for each in group]

    assert sorted(listed) == sorted(
        {name for each in (before, now) for name, status in each.items() if status in BROKEN}
    )
    assert {each.id for each in (*found.still_broken, *found.newly_broken)} == {
        name for name, status in now.items() if status in BROKEN
    }

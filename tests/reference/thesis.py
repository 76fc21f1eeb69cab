"""The two tables of docs/thesis.md, from the engine on the thesis's experiment: `python -m tests.reference.thesis`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from infra.samples.sample_data import CORRECTED, DELIVERED, SampleFile, write
from lakegate.base.extension_points import ROOT
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.verdict.check_status import CheckOutcome, Status
from tests.deliveries.delivery import judge_delivery, measure_natively
from tests.reference.cases import only_plan
from tests.reference.tables import table

CONTRACT = ROOT / "contracts" / "examples" / "weather.dcm.yaml"
PAGE = ROOT / "docs" / "thesis.md"
ROWS, SEED = 16 * 24 * 30, 1
RUNS = {"delivered": DELIVERED, "cleaned": CORRECTED}
THESIS = {
    "delivered": {Status.PASS: 33, Status.WARN: 0, Status.FAIL: 12},
    "cleaned": {Status.PASS: 41, Status.WARN: 2, Status.FAIL: 2},
}
"""The results of the thesis on its own data, of 45 validations; of the first run only the successful ones."""
WORDS = {Status.PASS: "passed", Status.WARN: "warned", Status.FAIL: "failed"}


class Judge(Protocol):
    """Some engine."""

    def __call__(self, plan: Plan, content: bytes) -> tuple[CheckOutcome, ...]: ...


def plan() -> Plan:
    contract = read(CONTRACT.read_bytes())
    return only_plan(contract)


def content(sample: SampleFile) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weather.csv"
        write(sample, path, ROWS, SEED)
        return path.read_bytes()


def tables(outcomes_of: Judge) -> dict[str, str]:
    """Both tables by name, of the outcomes that some engine gives to a delivery."""
    of_rules = {
        run: [each for each in outcomes_of(plan(), content(sample)) if each.rule.endswith("_rule")]
        for run, sample in RUNS.items()
    }
    return {"shares": _shares(of_rules), "rules": _rules(of_rules)}


def _shares(found: dict[str, list[CheckOutcome]]) -> str:
    rows = []
    for run, outcomes in found.items():
        ours, theirs = Counter(each.status for each in outcomes), THESIS[run]
        cells = [f"{counts[each]} ({_share(counts, each)})" for counts in (theirs, ours) for each in WORDS]
        rows.append((run, *cells))
    heads = [f"{who}: {words}" for who in ("thesis", "Lakegate") for words in WORDS.values()]
    return table(("data", *heads), rows)


def _rules(found: dict[str, list[CheckOutcome]]) -> str:
    names = list(dict.fromkeys(each.rule for outcomes in found.values() for each in outcomes))
    rows = []
    for name in names:
        own = {run: [each for each in outcomes if each.rule == name] for run, outcomes in found.items()}
        rows.append((f"`{name}`", str(len(own["cleaned"])), *(_said(outcomes) for outcomes in own.values())))
    return table(("rule of Appendix A", "checks", *found), rows)


def _said(outcomes: list[CheckOutcome]) -> str:
    """The number that passed, and the names of the others."""
    counted = Counter(each.status for each in outcomes)
    bad = [f"{WORDS[status]}: {_named(outcomes, status)}" for status in (Status.WARN, Status.FAIL) if counted[status]]
    return "; ".join([f"{counted[Status.PASS]} passed", *bad])


def _named(outcomes: Iterable[CheckOutcome], status: Status) -> str:
    return ", ".join(f"`{each.fields[0]}` ({each.measured})" for each in outcomes if each.status is status)


def _share(counts: Mapping[Status, int], status: Status) -> str:
    return f"{100 * counts[status] / sum(counts.values()):.1f} %"


def main() -> None:
    """Run the experiment and write the tables into the page."""
    with TemporaryDirectory() as folder:
        made = tables(_natively(Path(folder)))
    text = PAGE.read_text()
    for name, written in made.items():
        start, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}{written}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text)


def _natively(folder: Path) -> Judge:
    def judged(plan: Plan, content: bytes) -> tuple[CheckOutcome, ...]:
        place = folder / str(len(list(folder.iterdir())))
        place.mkdir()
        return judge_delivery(measure_natively, plan, place, content).judgement.outcomes

    return judged


if __name__ == "__main__":
    sys.exit(main())

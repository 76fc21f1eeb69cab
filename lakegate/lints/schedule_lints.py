"""Schedules: cron expressions of the wrong dialect, or with values out of range; schedules that nothing follows.

DCM writes Quartz (6 or 7 fields, seconds first, one of the two days `?`), ODCS and DCS the five fields of cron, as table A.3 of
DCM does in its example.
"""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.documents.odcs_quality import QUARTZ as QUARTZ_KEY
from lakegate.contract.documents.odcs_quality import problem_of
from lakegate.contract.schedules import (
    CRON,
    NICKNAMES,
    QUARTZ,
    QUARTZ_LENGTHS,
    NeverDueError,
    ScheduleError,
    is_cron_part,
    of_cron,
    of_quartz,
    schedule,
)
from lakegate.lints.findings import Finding


def other_dialect(contract: Contract, document: Document) -> Iterator[Finding]:
    """A schedule has as many fields as the dialect of its format."""
    is_quartz = contract.format.startswith("DCM")
    for place, text in _schedules(document):
        count = len(text.split())
        if text.startswith("@") and not is_quartz:
            continue
        if is_quartz and count not in {len(CRON), *QUARTZ_LENGTHS}:
            yield place.path, f"DCM writes Quartz: 6 or 7 fields, seconds first (`0 0 6 * * ?`), not {count}."
        if not is_quartz and count != len(CRON):
            yield place.path, f"Cron has 5 fields, minutes first (`0 6 * * *`), not {count}."


def impossible(contract: Contract, document: Document) -> Iterator[Finding]:
    """Every field of a schedule holds values that it can have, and some day has its date."""
    is_dcm = contract.format.startswith("DCM")
    for place, text in _schedules(document):
        words = text.lower().split()
        fields = QUARTZ if is_dcm and len(words) != len(CRON) else CRON
        if text.startswith("@"):
            if text not in NICKNAMES:
                yield place.path, f"{quote(text)} is not a schedule that cron knows."
        elif len(words) == len(CRON) or (fields is QUARTZ and len(words) in QUARTZ_LENGTHS):
            wrong = [
                f"{quote(word)} is out of range for {name}: write {least} to {most}, or `*`."
                for (name, least, most), word in zip(fields, words, strict=False)
                if not all(is_cron_part(part, least, most, quartz=fields is QUARTZ) for part in word.split(","))
            ]
            if not wrong and _is_never_due(text, is_quartz=fields is QUARTZ):
                wrong = [f"{quote(text)} is never due, no day has such a date: correct the day or the month."]
            yield from ((place.path, message) for message in wrong)


def _is_never_due(text: str, *, is_quartz: bool) -> bool:
    try:
        schedule(of_quartz(text) if is_quartz else of_cron(text))
    except NeverDueError:
        return True
    except ScheduleError:  # what is not followed here may be due elsewhere
        return False
    return False


def scheduler_alone(_contract: Contract, document: Document) -> Iterator[Finding]:
    """`scheduler: cron` stands beside a `schedule`."""
    for place in document.named("scheduler"):
        owner = document.at(place.path.rpartition(".")[0])
        if (place.text or "").casefold() == "cron" and not (owner["schedule"].text or "").strip():
            yield place.path, "Cron has no `schedule` here: add one (`0 6 * * *`), or remove the scheduler."


def of_rule(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A rule whose schedule cannot be followed is judged with each delivery."""
    for place in document.named("schedule", QUARTZ_KEY):
        problem = problem_of(document.at(place.path.rpartition(".")[0])) if ".quality[" in place.path else ""
        if problem:
            yield (
                place.path,
                f"The schedule of a rule is not followed, the rule is judged with each delivery: {problem}.",
            )


def _schedules(document: Document) -> Iterator[tuple[Place, str]]:
    """Every cron expression: by its own key, or beside a scheduler of that name."""
    for place in document.named("cron", QUARTZ_KEY):
        if place.text:
            yield place, place.text.strip()
    for place in document.named("schedule"):
        scheduler = document.at(place.path.rpartition(".")[0])["scheduler"].text or ""
        if place.text and scheduler.casefold() == "cron":
            yield place, place.text.strip()

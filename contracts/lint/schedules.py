"""Schedules: cron expressions of the wrong dialect, or with values out of range; schedules that nothing follows.

DCM writes Quartz (6 or 7 fields, seconds first, one of the two days `?`), ODCS and DCS the five fields of cron.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.documents.rule_schedules import QUARTZ as QUARTZ_KEY
from lakegate.contracts.documents.rule_schedules import problem_of
from lakegate.contracts.lake.revalidations import MAX_STALE
from lakegate.contracts.model.schedules import NICKNAMES
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
CRON = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
QUARTZ = (("second", 0, 59), *CRON[:4], ("weekday", 1, 7), ("year", 1970, 2199))
"""The fields of each dialect with their smallest and largest value."""
QUARTZ_LENGTHS = (6, 7)
PART = re.compile(r"(?P<low>\*|\?|[0-9]{1,4}|[a-z]{3})(?:-(?P<high>[0-9]{1,4}|[a-z]{3}))?(?:/(?P<step>[0-9]{1,4}))?")
QUARTZ_DAY = re.compile(r"l(?:-[0-9]{1,2})?|lw|[0-9]{1,2}w|[0-9a-z]{1,3}l|[0-9a-z]{1,3}#[1-5]")


def other_dialect(contract: Contract, document: Document) -> Iterator[Finding]:
    """A schedule has as many fields as the dialect of its format."""
    is_quartz = contract.format.startswith("DCM")
    for place, text in _schedules(document):
        count = len(text.split())
        if text.startswith("@") and not is_quartz:
            continue
        if is_quartz and count not in QUARTZ_LENGTHS:
            yield place.path, f"DCM writes Quartz: 6 or 7 fields, seconds first (`0 0 6 * * ?`), not {count}."
        if not is_quartz and count != len(CRON):
            yield place.path, f"Cron has 5 fields, minutes first (`0 6 * * *`), not {count}."


def impossible(contract: Contract, document: Document) -> Iterator[Finding]:
    """Every field of a schedule holds values that it can have."""
    fields = QUARTZ if contract.format.startswith("DCM") else CRON
    for place, text in _schedules(document):
        words = text.lower().split()
        if text.startswith("@"):
            if text not in NICKNAMES:
                yield place.path, f"{shown(text)} is not a schedule that cron knows."
        elif len(words) == len(CRON) or (fields is QUARTZ and len(words) in QUARTZ_LENGTHS):
            for (name, least, most), word in zip(fields, words, strict=False):
                if not all(_is_good(part, least, most, quartz=fields is QUARTZ) for part in word.split(",")):
                    yield place.path, f"{shown(word)} is out of range for {name}: write {least} to {most}, or `*`."


def of_rule(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A rule whose schedule cannot be followed is judged with each delivery."""
    for place in document.named("schedule", QUARTZ_KEY):
        problem = problem_of(document.at(place.path.rpartition(".")[0])) if ".quality[" in place.path else ""
        if problem:
            yield (
                place.path,
                f"The schedule of a rule is not followed, the rule is judged with each delivery: {problem}.",
            )


def too_many_rules(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A dataset has at most 100 rules with a schedule: so many can be named as not holding."""
    for dataset in contract.datasets:
        count = sum(1 for each in dataset.rules if each.schedule)
        if count > MAX_STALE:
            yield dataset.origin.path, f"At most {MAX_STALE} rules of a dataset have a schedule, not {count:,}."


def _schedules(document: Document) -> Iterator[tuple[Place, str]]:
    """Every cron expression: by its own key, or beside a scheduler of that name."""
    for place in document.named("cron", QUARTZ_KEY):
        if place.text:
            yield place, place.text.strip()
    for place in document.named("schedule"):
        scheduler = document.at(place.path.rpartition(".")[0])["scheduler"].text or ""
        if place.text and scheduler.casefold() == "cron":
            yield place, place.text.strip()


def _is_good(part: str, least: int, most: int, *, quartz: bool) -> bool:
    if quartz and QUARTZ_DAY.fullmatch(part):
        return True
    found = PART.fullmatch(part)
    if found is None or (found["low"] == "?" and not quartz) or found["step"] == "0":
        return False
    numbers = [_number(each) for each in (found["low"], found["high"]) if each and each not in "*?"]
    return all(least <= number <= most for number in numbers) and numbers == sorted(numbers)


def _number(word: str) -> int:
    """The number of a field's value; a name of a month or a weekday by its place."""
    if word.isascii() and word.isdigit():
        return int(word)
    names = MONTHS if word in MONTHS else DAYS
    return names.index(word) + 1 if word in names else -1

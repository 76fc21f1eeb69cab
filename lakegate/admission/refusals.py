"""Table of refusals before any job: misnamed, too large, empty, other format, impossible header."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lakegate.admission.file_signatures import UnreadableError
from lakegate.admission.header import first_line, header_end, header_of, text_of
from lakegate.base.text import plural, printable, quote
from lakegate.contract.delivery_policy import FileNames
from lakegate.contract.file_formats import Format
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns
from lakegate.verdict.verdict import LONGEST_RULE, MAX_RULES, BrokenRule, early_rejections, reason_texts

# Each refusal is one function and its row in `REFUSALS`. Those by the first bytes alone are rows of
# `lakegate.admission.file_signatures`, which the engine applies too.


FIRST_BYTES: Final = 65_536
"""Bytes of an object that are read: enough for any header and every file signature."""


_FETCHED: Final = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}-([0-9]{8}T[0-9]{6}Z-)?")
"""The beginning of the name of what a pull has fetched."""


@dataclass(frozen=True, slots=True)
class ArrivedObject:
    """An object at the door."""

    plan: Plan
    size: int
    """Bytes of the object."""
    first: bytes
    """Its first bytes, at most `FIRST_BYTES`."""
    key: str = ""
    """The key at which it landed; empty where its name is not judged."""


def refusals(plan: bytes, size: int, first: bytes, key: str = "") -> tuple[str, ...]:
    """The reasons to refuse an object of `size` bytes that begins with `first`; none if the job has to judge it.

    A header that does not end within `first` is left to the job.
    """
    arrival = ArrivedObject(Plan.from_bytes(plan), size, first, key)
    return next((reasons for refusal in REFUSALS.values() if (reasons := refusal(arrival))), ())


def refused_by_size(plan: bytes, size: int) -> tuple[str, ...]:
    """The reasons to refuse an object of `size` bytes unread."""
    arrival = ArrivedObject(Plan.from_bytes(plan), size, b"")
    return _too_large(arrival) or _empty(arrival)


def refused_by_name(plan: bytes, key: str) -> tuple[str, ...]:
    """The reasons to refuse an object that will land at a key."""
    return _misnamed(ArrivedObject(Plan.from_bytes(plan), 0, b"", key))


def refused_rules(plan: bytes, reasons: Sequence[str]) -> tuple[BrokenRule, ...]:
    """The rules behind the reasons of a refusal, which are texts `<check>: <message>`; none for a code without a message.

    A reason that is not a check of the plan is listed by what precedes its message: `file/size`.
    """
    rules = {f"{check.id}: ": check.rule for check in Plan.from_bytes(plan).checks}
    named = (
        next((rule for begin, rule in rules.items() if reason.startswith(begin)), code_of(reason))
        for reason in reasons
        if not is_code(reason)
    )
    return tuple(BrokenRule(rule[:LONGEST_RULE], "fail") for rule in dict.fromkeys(named))[:MAX_RULES]


def code_of(reason: str) -> str:
    """The part of a reason before its message: `file/size`, or the id of a check."""
    return reason.partition(": ")[0]


def is_code(reason: str) -> bool:
    """Whether a reason is a code alone, which no rule of a contract has: `duplicate-content`, `unrouted`."""
    return code_of(reason) == reason


def _misnamed(arrival: ArrivedObject) -> tuple[str, ...]:
    names, name = arrival.plan.policy.file_names, arrival.key.rpartition("/")[2]
    if names is None or not arrival.key or fits(names, name):
        return ()
    words = f"the name {quote(printable(name))} does not match the pattern {quote(names.written)} of the contract"
    return (f"file/name: {words}",)


def fits(names: FileNames, name: str) -> bool:
    """Whether the name of an object is one of a contract; of what a pull has fetched, the name of the source."""
    fetched = _FETCHED.match(name)
    return re.search(names.pattern.replace(r"\z", r"\Z"), name[fetched.end() :] if fetched else name) is not None


def _too_large(arrival: ArrivedObject) -> tuple[str, ...]:
    most = arrival.plan.policy.max_bytes
    if most is None or arrival.size <= most:
        return ()
    return (f"file/size: the object has {plural(arrival.size, 'byte')}, the contract allows {most:,}",)


def _empty(arrival: ArrivedObject) -> tuple[str, ...]:
    is_allowed = arrival.size > 0 or arrival.plan.policy.allow_empty
    return () if is_allowed else ("file/rows: the object is empty",)


def _beginning(arrival: ArrivedObject) -> tuple[str, ...]:
    """The first bytes are not those of the declared format, or the header rejects the object."""
    if arrival.size == 0:
        return ()
    try:
        columns = _columns(arrival.plan, arrival.size, arrival.first)
    except UnreadableError as error:
        return (f"file/readable: {error.finding.message}",)
    if columns is None or not (columns.absent or columns.extra):
        return ()
    return reason_texts(early_rejections(arrival.plan, columns))


REFUSALS: dict[str, Callable[[ArrivedObject], tuple[str, ...]]] = {
    "name": _misnamed,
    "size": _too_large,
    "empty": _empty,
    "beginning": _beginning,
}
"""The first one with reasons decides."""


def _columns(plan: Plan, size: int, first: bytes) -> Columns | None:
    """The header's columns; None where there is no header, or not all of it was read."""
    csv, storage = plan.csv, plan.storage
    text = text_of(first, storage, csv)
    if text is None or storage.format is not Format.CSV or (not header_end(text, csv) and len(first) < size):
        return None
    line = first_line(text, csv)
    return header_of(line, plan, text) if csv.header else None

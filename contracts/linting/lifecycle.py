"""The life of a contract (ADR-0029): its status, and how it says that it ends."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.document import Document
    from contracts.linting.finding import Finding
    from contracts.model import Contract

STATUSES = {
    "ODCS": ("proposed", "draft", "active", "deprecated", "sunset", "retired"),
    "DCS": ("proposed", "in development", "active", "deprecated", "sunset", "retired"),
}
ENDING = ("deprecated", "sunset", "retired")
LEAST_NOTICE_DAYS = 30
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def unknown_status(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A status is one that tools know: what it is decides whether deliveries are let in."""
    known = STATUSES.get(contract.format.split()[0], ())
    if contract.status and known and contract.status.casefold() not in known:
        path = "$.info.status" if contract.format.startswith("DCS") else "$.status"
        yield path, f"{shown(contract.status)} is none of {listed(known)}.{did_you_mean(contract.status, known)}"


def ends_unsaid(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract that ends says when, and what takes its place."""
    if (contract.status or "").casefold() in ENDING[:2] and contract.about.deprecation is None:
        path = "$.info.status" if contract.format.startswith("DCS") else "$.status"
        yield path, "Readers must know when it ends: add a `deprecation` with `sunset_date` and `replacement`."


def ends_while_active(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract with a `deprecation` is no longer active."""
    said = contract.about.deprecation
    if said is not None and (contract.status or "").casefold() not in ENDING:
        yield (
            said.origin.path,
            f"The status is {shown(contract.status or 'not said')}: say `deprecated` beside a deprecation.",
        )


def not_a_day(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The days of a deprecation are calendar days."""
    said = contract.about.deprecation
    for key in ("announced", "sunset_date") if said is not None else ():
        written = getattr(said, key)
        if written is not None and _day(written) is None:
            yield f"$.deprecation.{key}", f"{shown(written)} is no day: write `YYYY-MM-DD`."


def reversed_days(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The end comes after its announcement."""
    notice = _notice(contract)
    if notice is not None and notice < 0:
        yield "$.deprecation.sunset_date", "The contract would end before that is announced: mend one of the days."


def short_notice(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Readers have at least 30 days to leave."""
    notice = _notice(contract)
    if notice is not None and 0 <= notice < LEAST_NOTICE_DAYS:
        yield "$.deprecation.sunset_date", f"Readers would have {notice} days: give them {LEAST_NOTICE_DAYS} or more."


def _notice(contract: Contract) -> int | None:
    """Days between announcement and end; None where one of them is not known."""
    said = contract.about.deprecation
    days = [_day(each) for each in (said.announced, said.sunset_date)] if said is not None else [None, None]
    return (days[1] - days[0]).days if days[0] is not None and days[1] is not None else None


def _day(written: str | None) -> date | None:
    try:
        return date.fromisoformat(written) if written and DAY.fullmatch(written) else None
    except ValueError:
        return None

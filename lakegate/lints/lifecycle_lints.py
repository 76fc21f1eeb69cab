"""Lints of the status and the deprecation of a contract (ADR-0029)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from lakegate.base.text import did_you_mean, join_words, plural, quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding

STATUSES = {
    "ODCS": ("proposed", "draft", "active", "deprecated", "sunset", "retired"),
    "DCS": ("proposed", "in development", "active", "deprecated", "sunset", "retired"),
}
ENDING = ("deprecated", "sunset", "retired")
MIN_NOTICE_DAYS = 30
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def unknown_status(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The status is a standard one: it decides whether deliveries are taken in."""
    known = STATUSES.get(contract.format.split()[0], ())
    if contract.status and known and contract.status.casefold() not in known:
        path = "$.info.status" if contract.format.startswith("DCS") else "$.status"
        yield path, f"{quote(contract.status)} is none of {join_words(known)}.{did_you_mean(contract.status, known)}"


def ends_unsaid(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A deprecated contract has a sunset date and a replacement."""
    if (contract.status or "").casefold() in ENDING[:2] and contract.about.deprecation is None:
        path = "$.info.status" if contract.format.startswith("DCS") else "$.status"
        yield path, "Readers must know when it ends: add a `deprecation` with `sunset_date` and `replacement`."


def ends_while_active(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract with a `deprecation` is no longer active."""
    deprecation = contract.about.deprecation
    if deprecation is not None and (contract.status or "").casefold() not in ENDING:
        message = f"The status is {quote(contract.status or 'missing')}: write `deprecated`, as the document has a `deprecation`."
        yield deprecation.origin.path, message


def not_a_day(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The dates of a deprecation are calendar dates."""
    deprecation = contract.about.deprecation
    for key in ("announced", "sunset_date") if deprecation is not None else ():
        written = getattr(deprecation, key)
        if written is not None and _day(written) is None:
            yield f"$.deprecation.{key}", f"{quote(written)} is not a day: write `YYYY-MM-DD`."


def reversed_days(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The sunset date is after the announcement."""
    notice = _notice(contract)
    if notice is not None and notice < 0:
        yield "$.deprecation.sunset_date", "The sunset date is before the announcement: correct one of the dates."


def short_notice(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Consumers have time enough to migrate between announcement and sunset."""
    notice = _notice(contract)
    if notice is not None and 0 <= notice < MIN_NOTICE_DAYS:
        yield (
            "$.deprecation.sunset_date",
            f"Consumers have {plural(notice, 'day')} to migrate: give them {MIN_NOTICE_DAYS} or more.",
        )


def _notice(contract: Contract) -> int | None:
    """Days between announcement and sunset; None if one of the dates is unknown."""
    deprecation = contract.about.deprecation
    days = (
        [_day(side) for side in (deprecation.announced, deprecation.sunset_date)]
        if deprecation is not None
        else [None, None]
    )
    return (days[1] - days[0]).days if days[0] is not None and days[1] is not None else None


def _day(written: str | None) -> date | None:
    try:
        return date.fromisoformat(written) if written and DAY.fullmatch(written) else None
    except ValueError:
        return None

"""Which texts Python's strptime reads: what compiled date formats are compared with."""

from __future__ import annotations

from datetime import datetime


def reads(text: str, wanted: str) -> bool:
    """Whether strptime reads a text by a format."""
    try:
        datetime.strptime(text, wanted)  # noqa: DTZ007 - whether it reads, not which moment
    except ValueError:
        return False
    return True

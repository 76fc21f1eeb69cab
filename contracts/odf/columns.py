"""The columns that every slice has before its own, by the names of ODF's default vocabulary."""

from __future__ import annotations

from typing import Final

COMMON: Final = ("offset", "op", "system_time", "event_time")

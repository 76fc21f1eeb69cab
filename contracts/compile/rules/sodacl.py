"""The grammar of SodaCL, and of the equivalent checks of Soda's contracts, which are mappings.

::

    check     = metric ["(" column, … ")"] [threshold]
    threshold = ("<" | "<=" | "=" | "!=" | "<>" | ">=" | ">") number ["%"]
              | ["not"] "between" ["(" | "["] number "and" number [")" | "]"]
    column    = name ["::" type]                     a cast; the contract's type of the column is used
    number    = 12 | -0.5 | 1d | 2h30m
    zone      = "when" threshold                     in `warn` and `fail`: the bad numbers

As a mapping: `type: missing_count`, `column: x` or `columns: [x, y]`, `must_be_less_than: 5`, `valid_values: [a, b]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.plan.check import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 1000
"""The most characters of a check."""
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)|(?:[0-9]+[dhm])+[0-9]*"
_NAME = r"""[^\s<>=()\[\],"'`]+|"[^"]+"|`[^`]+`"""
_CHECK = re.compile(
    rf"(?P<metric>[a-z_]+)(?:\((?P<columns>\s*(?:{_NAME})\s*(?:,\s*(?:{_NAME})\s*)*)\))?(?:\s*(?P<threshold>\S.*))?",
    re.DOTALL,
)
_COMPARED = re.compile(rf"(?P<sign><=|>=|<>|!=|=|<|>)\s*(?P<number>{_NUMBER})\s*%?")
_BETWEEN = re.compile(
    rf"(?P<turned>not\s+)?between\s*(?P<open>[\[(])?\s*(?P<low>{_NUMBER})\s*%?\s+and\s+(?P<high>{_NUMBER})\s*%?\s*(?P<close>[\])])?"
)
_PART_OF_TIME = re.compile(r"([0-9]+)([dhm])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60}
_SIGNS = {"<": ("high", True), "<=": ("high", False), ">": ("low", True), ">=": ("low", False)}
_KEYS = {
    "must_be": "=",
    "must_not_be": "!=",
    "must_be_greater_than": ">",
    "must_be_greater_than_or_equal_to": ">=",
    "must_be_greater_or_equal_to": ">=",
    "must_be_less_than": "<",
    "must_be_less_than_or_equal_to": "<=",
    "must_be_less_or_equal_to": "<=",
}
_BETWEEN_KEYS = {"must_be_between": False, "must_be_not_between": True, "must_not_be_between": True}
ZONES = ("fail", "warn")


class SodaSyntaxError(Exception):
    """The check is not valid SodaCL; the message describes how to fix it."""


@dataclass(frozen=True, slots=True)
class SodaCheck:
    """A parsed check."""

    metric: str
    columns: tuple[str, ...]
    good: Interval | None
    """The interval of good numbers; None without a threshold, or with zones only."""
    zones: dict[str, object]
    """The thresholds of `warn` and `fail`."""
    settings: dict[str, object]
    """All other settings, with keys in Soda's spelling: `valid min length`."""


def read(call: str, arguments: Mapping[str, object]) -> SodaCheck:
    """Parse a check in either syntax; MalformedError if it is invalid."""
    found = _CHECK.fullmatch(call.strip()) if len(call) <= LONGEST else None
    if found is None:
        raise SodaSyntaxError(
            "a check of Soda is a metric, its columns in brackets and a threshold: `missing_count(a) = 0`"
        )
    settings = {name.replace("_", " "): value for name, value in arguments.items() if name not in _reserved()}
    return SodaCheck(
        metric=found["metric"],
        columns=tuple(_columns(found["columns"] or "")) or _named(arguments),
        good=threshold(found["threshold"]) if found["threshold"] else _in_keys(arguments),
        zones={name: arguments[name] for name in ZONES if arguments.get(name) is not None},
        settings=settings,
    )


def threshold(text: str, *, turned: bool = False) -> Interval:
    """The interval of a threshold, or (`turned`) its complement; MalformedError if it is invalid."""
    compared, between = _COMPARED.fullmatch(text.strip()), _BETWEEN.fullmatch(text.strip())
    if compared:
        return _compared(compared["sign"], number(compared["number"]), turned=turned)
    if between is None:
        raise SodaSyntaxError(f"`{text.strip()[:80]}` is not a threshold: write `< 5` or `between 1 and 5`")
    return Interval(
        number(between["low"]),
        number(between["high"]),
        low_open=between["open"] == "(" and between["close"] is not None,
        high_open=between["close"] == ")" and between["open"] is not None,
        outside=(between["turned"] is not None) is not turned,
    )


def zone(condition: object) -> Interval:
    """The good numbers outside of a zone: up to 5 for `when > 5`."""
    text = str(condition).strip()
    if not text.startswith("when "):
        raise SodaSyntaxError("a zone begins with `when`: `warn: when > 5`")
    return threshold(text.removeprefix("when "), turned=True)


def number(text: str) -> Decimal:
    """A number, or a duration in seconds: `1d6h`. Last digits without a unit are minutes."""
    if text[-1:] not in _SECONDS and not re.search("[dhm]", text):
        return Decimal(text)
    rest = re.search(r"[0-9]*\Z", text)
    left_over = int(rest[0]) * 60 if rest and rest[0] else 0
    return Decimal(sum(int(count) * _SECONDS[unit] for count, unit in _PART_OF_TIME.findall(text)) + left_over)


def _compared(sign: str, bound: Decimal, *, turned: bool) -> Interval:
    if sign not in _SIGNS:
        return Interval(bound, bound, outside=(sign != "=") is not turned)
    end, is_open = _SIGNS[sign]
    if turned:
        end, is_open = ("low" if end == "high" else "high"), not is_open
    return Interval(low=bound, low_open=is_open) if end == "low" else Interval(high=bound, high_open=is_open)


def _columns(text: str) -> Iterator[str]:
    for found in re.finditer(_NAME, text):
        yield found[0].strip('"`').partition("::")[0]


def _named(arguments: Mapping[str, object]) -> tuple[str, ...]:
    listed = arguments.get("columns")
    names = listed if isinstance(listed, list | tuple) else (arguments.get("column"),)
    return tuple(str(name) for name in names if name is not None)


def _in_keys(arguments: Mapping[str, object]) -> Interval | None:
    for name, sign in _KEYS.items():
        if arguments.get(name) is not None:
            return threshold(f"{sign} {arguments[name]}")
    for name, turned in _BETWEEN_KEYS.items():
        ends = arguments.get(name)
        if isinstance(ends, list | tuple) and len(ends) == 2:  # noqa: PLR2004 - two ends
            return threshold(f"between {ends[0]} and {ends[1]}", turned=turned)
    return None


def _reserved() -> set[str]:
    return {*_KEYS, *_BETWEEN_KEYS, *ZONES, "column", "columns"}

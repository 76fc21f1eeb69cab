"""The syntax of checks of Soda: SodaCL, and the mappings of Soda's contracts in versions 3 and 4.

::

    check     = metric ["(" column, … ")"] [threshold]
    threshold = ("<" | "<=" | "=" | "!=" | "<>" | ">=" | ">") number ["%"]
              | ["not"] "between" ["(" | "["] number "and" number [")" | "]"]
    column    = name ["::" type]                     a cast; the contract's type of the column is used
    number    = 12 | -0.5 | 1d | 2h30m
    zone      = "when" threshold                     in `warn` and `fail`: the bad numbers

As a mapping of version 3: `type: missing_count`, `column: x` or `columns: [x, y]`, `must_be_less_than: 5`,
`valid_values: [a, b]`. Of version 4: `missing: {threshold: {metric: percent, must_be_less_than: 5, level: warn}}`.

Sources: SodaCL reference; Soda data contract check reference (version 3); Contract Language reference (version 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import Rule, Severity
from lakegate.contract.logical_types import number_of
from lakegate.plan.check import NONE, Interval
from lakegate.rules.check_builder import brief, not_measured, refuse

Arguments = Mapping[str, object]
Wanted = tuple[str, Interval, Severity | None]
"""The suffix of a check's id, the interval of good numbers, and the severity of the check (None: that of the rule)."""

LONGEST_SODA_CHECK = 1000
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
_VARIABLE = re.compile(r"\$\{(?!\s*(?:table_name|soda\.table)\s*\})[^}]*\}?")
"""A variable of Soda; the placeholders of the dataset are none."""

BOUNDS = {
    "greater_than": ">",
    "greater_than_or_equal_to": ">=",
    "greater_than_or_equal": ">=",
    "greater_or_equal_to": ">=",
    "less_than": "<",
    "less_than_or_equal_to": "<=",
    "less_than_or_equal": "<=",
    "less_or_equal_to": "<=",
}
KEYS = {"must_be": "=", "must_not_be": "!=", **{f"must_be_{name}": sign for name, sign in BOUNDS.items()}}
BETWEEN_KEYS = {"must_be_between": False, "must_be_not_between": True, "must_not_be_between": True}
"""Whether the numbers outside of the range are the good ones."""
ZONES = ("fail", "warn")
OF_THRESHOLD = ("metric", "unit", "level", "additional")
"""The keys of a `threshold` of version 4 beside its bounds."""
RESERVED = frozenset({*KEYS, *BETWEEN_KEYS, *ZONES, "threshold", "column", "columns"})

PATTERNS = {
    f"{name} {spelling}": f"{name} regex"
    for name in ("missing", "valid", "invalid")
    for spelling in ("sql regex", "regex sql")
}
ALIASES = {**PATTERNS, "filter sql": "filter", "valid reference data": "valid values reference data"}
"""Settings of Soda's contracts, as SodaCL spells them."""
NAMED_PATTERNS = ("missing format", "valid format", "invalid format")
"""Settings that version 4 gives as a mapping with a `regex` and its `name`."""

SILENT = frozenset(
    {
        "name",
        "name was",
        "title",
        "identity",
        "attributes",
        "qualifier",
        "samples limit",
        "samples columns",
        "collect failed rows",
        "store failed rows",
        "description",
        "type",
        "filter",
    }
)
"""Settings that do not affect the data, or that every check has."""


class SodaSyntaxError(Exception):
    """The check is not valid in Soda; the message describes how to fix it."""


class UnmeasuredError(Exception):
    """The check is skipped; the message is the reason."""


@dataclass(frozen=True, slots=True)
class SodaCheck:
    """A parsed check."""

    metric: str
    columns: tuple[str, ...]
    thresholds: tuple[Wanted, ...]
    """Each of its thresholds, except zones; every one holds."""
    level: Severity | None
    """The severity of the default, if there are no thresholds (None: that of the rule)."""
    zones: dict[str, object]
    """The thresholds of `warn` and `fail`."""
    settings: dict[str, object]
    """All other settings, with keys in SodaCL's spelling: `valid min length`."""
    spelled: dict[str, str]
    """Those keys as they are written."""


def parse_check(call: str, arguments: Arguments) -> SodaCheck:
    """Parse a check in any syntax; SodaSyntaxError if it is invalid, UnmeasuredError if no delivery decides it."""
    refuse_variables((call, arguments))
    match = _CHECK.fullmatch(call.strip()) if len(call) <= LONGEST_SODA_CHECK else None
    if match is None:
        raise SodaSyntaxError(
            "a check of Soda is a metric, its columns in brackets and a threshold: `missing_count(a) = 0`"
        )
    settings, spelled = _settings(arguments)
    written = [("", threshold(match["threshold"]), None)] if match["threshold"] else []
    parsed = SodaCheck(
        metric=match["metric"],
        columns=tuple(_columns(match["columns"] or "")) or _list_columns(arguments),
        thresholds=(*written, *(("", interval, None) for interval in intervals(arguments)), *_of_threshold(arguments)),
        level=_severity(_threshold_argument(arguments)),
        zones={name: arguments[name] for name in ZONES if arguments.get(name) is not None},
        settings=settings,
        spelled=spelled,
    )
    return _in_version_3(parsed, arguments)


def wanted_intervals(rule: Rule, parsed: SodaCheck, default: Interval | None) -> list[Wanted]:
    """The intervals of all thresholds and zones; the default one if there are none."""
    found = [*parsed.thresholds]
    found += [
        (f":{name}", zone(condition), Severity.WARN if name == "warn" else None)
        for name, condition in parsed.zones.items()
    ]
    if not found and default is not None:
        found = [("", default, parsed.level)]
    if not found:
        refuse(rule, "no-argument", f"the check {parsed.metric} needs a threshold, `> 0` for example")
    for _, good, _ in found:
        low, high = good.low, good.high
        if low is not None and high is not None and (low > high or (low == high and (good.low_open or good.high_open))):
            raise SodaSyntaxError(f"no number is between {low:f} and {high:f}: write the smaller bound first")
    return found


def unknown_setting(parsed: SodaCheck, known: Iterable[str]) -> UnmeasuredError | None:
    """The reason why a check is skipped that has other settings than the known ones; None: it has none."""
    names = {*known, *SILENT}
    foreign = next((name for name in sorted(parsed.settings) if name not in names), None)
    if foreign is None:
        return None
    written = parsed.spelled[foreign]
    near = [entry if " " in written else entry.replace(" ", "_") for entry in sorted(names)]
    what = f"the setting {brief(written)} of {brief(parsed.metric)}"
    return UnmeasuredError(not_measured(what, written, [*near, *sorted(RESERVED)]))


# ---- Settings ----


def _settings(arguments: Arguments) -> tuple[dict[str, object], dict[str, str]]:
    settings: dict[str, object] = {}
    spelled: dict[str, str] = {}
    for written, value in arguments.items():
        if written in RESERVED:
            continue
        name = written.replace("_", " ")
        name = ALIASES.get(name, name)
        is_named = name in NAMED_PATTERNS and isinstance(value, Mapping)
        name = f"{name.split()[0]} regex" if is_named else name
        if name in settings:
            raise SodaSyntaxError(f"{quote(spelled[name])} and {quote(written)} mean the same: write one of them")
        settings[name] = value.get("regex") if isinstance(value, Mapping) and is_named else value
        spelled[name] = written
    return settings, spelled


def refuse_variables(value: object) -> None:
    """Raise UnmeasuredError for a variable of Soda anywhere in a value."""
    if isinstance(value, str):
        match = _VARIABLE.search(value)
        if match is not None:
            raise UnmeasuredError(f"{quote(match[0])} is a variable of Soda: it has a value only when Soda runs")
    elif isinstance(value, Mapping):
        refuse_variables(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for entry in value:
            refuse_variables(entry)


def _columns(text: str) -> Iterator[str]:
    for match in re.finditer(_NAME, text):
        yield match[0].strip('"`').partition("::")[0]


def _list_columns(arguments: Arguments) -> tuple[str, ...]:
    columns = arguments.get("columns")
    names = columns if isinstance(columns, list | tuple) else (arguments.get("column"),)
    return tuple(str(name) for name in names if name is not None)


# ---- Thresholds ----


def threshold(text: str, *, turned: bool = False) -> Interval:
    """The interval of a threshold, or (`turned`) its complement; SodaSyntaxError if it is invalid."""
    compared, between = _COMPARED.fullmatch(text.strip()), _BETWEEN.fullmatch(text.strip())
    if compared:
        return _compare(compared["sign"], number(compared["number"]), turned=turned)
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


def intervals(arguments: Arguments) -> tuple[Interval, ...]:
    """The intervals of the keys `must_be…`, which all hold.

    A lower and an upper bound are one range; where the lower one is above the upper one, the good numbers are outside of it (Soda
    data contract check reference, Threshold boundaries).
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    found = [
        _compare(sign, _read_bound(name, given[name]), turned=False) for name, sign in KEYS.items() if name in given
    ]
    ranges = [_range(name, given[name], turned) for name, turned in BETWEEN_KEYS.items() if name in given]
    return (*_join_intervals(found), *ranges)


def _join_intervals(found: list[Interval]) -> list[Interval]:
    """The intervals, with a single lower and a single upper bound as one."""
    lower = [interval for interval in found if interval.high is None]
    upper = [interval for interval in found if interval.low is None]
    if len(lower) != 1 or len(upper) != 1:
        return found
    (low,), (high,) = lower, upper
    assert low.low is not None
    assert high.high is not None
    if low.low <= high.high:
        both = Interval(low.low, high.high, low.low_open, high.high_open)
    else:
        both = Interval(high.high, low.low, not high.high_open, not low.low_open, outside=True)
    return [both, *(interval for interval in found if interval not in (low, high))]


def _read_bound(name: str, value: object) -> Decimal:
    found = number_of(value) if not isinstance(value, Mapping | list | tuple) else None
    if found is None:
        raise SodaSyntaxError(f"`{name}` compares with a number: write one")
    return found


def _range(name: str, value: object, turned: bool) -> Interval:  # noqa: FBT001 - a column of the table
    """A range: two numbers, or (version 4) a mapping with two bounds."""
    form = f"`{name}` has two numbers, the smaller one first: `{name}: [1, 5]`"
    if isinstance(value, Mapping):
        (low_name, high_name) = ("less_than", "greater_than") if turned else ("greater_than", "less_than")
        form = f"`{name}` has a lower and an upper bound: `{name}: {{{low_name}: 1, {high_name}: 5}}`"
        unknown = next((entry for entry in value if entry not in BOUNDS), None)
        if unknown is not None:
            raise SodaSyntaxError(f"{form}, not {quote(unknown)}.{did_you_mean(str(unknown), BOUNDS)}")
        found = intervals({f"must_be_{key}": bound for key, bound in value.items()})
        if len(found) != 1 or None in (found[0].low, found[0].high) or found[0].outside is not turned:
            raise SodaSyntaxError(form)
        return found[0]
    ends = [_read_bound(name, entry) for entry in value] if isinstance(value, list | tuple) else []
    if len(ends) != 2 or ends != sorted(ends):  # noqa: PLR2004 - two ends
        raise SodaSyntaxError(form)
    return Interval(ends[0], ends[1], outside=turned)


def _compare(sign: str, bound: Decimal, *, turned: bool) -> Interval:
    if sign not in _SIGNS:
        return Interval(bound, bound, outside=(sign != "=") is not turned)
    end, is_open = _SIGNS[sign]
    if turned:
        end, is_open = ("low" if end == "high" else "high"), not is_open
    return Interval(low=bound, low_open=is_open) if end == "low" else Interval(high=bound, high_open=is_open)


# ---- Thresholds and checks of version 4 ----


_LEVELS = {"fail": None, "warn": Severity.WARN}


def _of_threshold(arguments: Arguments) -> Iterator[Wanted]:
    """The bounds of a `threshold` of version 4, and those of its `additional` one, each with its level."""
    given = _threshold_argument(arguments)
    yield from (("", interval, _severity(given)) for interval in intervals(given))
    more = given.get("additional")
    if more is None:
        return
    if not isinstance(more, Mapping) or not (found := intervals(_keep_known(more, ("level",)))):
        raise SodaSyntaxError("`additional` is one more threshold: `{must_be_less_than: 5, level: warn}`")
    if _severity(more) is _severity(given):
        raise SodaSyntaxError("a threshold and its `additional` one have two levels: one is `level: warn`")
    yield from ((f":{more.get('level') or 'fail'}", entry, _severity(more)) for entry in found)


def _threshold_argument(arguments: Arguments) -> Arguments:
    given = arguments.get("threshold")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SodaSyntaxError("`threshold` holds bounds: `threshold: {must_be_less_than: 5}`")
    return _keep_known(given, OF_THRESHOLD)


def _keep_known(given: Arguments, others: tuple[str, ...]) -> Arguments:
    known = (*KEYS, *BETWEEN_KEYS, *others)
    unknown = next((entry for entry in given if entry not in known), None)
    if unknown is not None:
        raise UnmeasuredError(not_measured(f"the key {brief(unknown)} of a threshold", unknown, known))
    return given


def _severity(given: Arguments) -> Severity | None:
    level = given.get("level") or "fail"
    if level not in _LEVELS:
        raise SodaSyntaxError(f"the level {quote(level)} is none of {join_words(_LEVELS)}")
    return _LEVELS[str(level)]


VERSION_4 = {
    "missing": {"count": "missing_count", "percent": "missing_percent"},
    "invalid": {"count": "invalid_count", "percent": "invalid_percent"},
    "duplicate": {"count": "no_duplicate_values", "percent": "no_duplicate_values"},
}
"""Checks of version 4 whose `threshold` names a metric, with that metric in version 3."""
FUNCTIONS = {"minlength": "min_length", "maxlength": "max_length", "avglength": "avg_length"}
"""Functions of `aggregate`, in small letters, with their metrics in version 3; others have the same name."""
UNITS = {"minute": "freshness_in_minutes", "hour": "freshness_in_hours", "day": "freshness_in_days"}
NO_ROW = Interval(Decimal(0), Decimal(0))


QUERIES = {
    "metric_expression": ("expression sql",),
    "metric_query": ("query sql",),
    "metric": ("expression", "query"),
}
"""Checks that have a metric of their own, and the settings with its SQL."""


def _in_version_3(parsed: SodaCheck, arguments: Arguments) -> SodaCheck:
    """A check of version 4 in the words of version 3; any other check as it is."""
    given = _threshold_argument(arguments)
    metric, unit = given.get("metric"), given.get("unit")
    if parsed.metric in VERSION_4:
        counted_metric = str(metric or "count")
        known = VERSION_4[parsed.metric]
        if counted_metric not in known:
            raise SodaSyntaxError(f"the metric {quote(counted_metric)} of a threshold is none of {join_words(known)}")
        thresholds = parsed.thresholds or (("", NO_ROW, parsed.level),)
        if parsed.metric == "duplicate":
            if any(good not in (NO_ROW, NONE) for _, good, _ in thresholds):
                raise UnmeasuredError(
                    "version 4 of Soda counts the rows after the first one of each value: only `must_be: 0` is measured"
                )
            thresholds = tuple((part, NO_ROW, level) for part, _, level in thresholds)
        return replace(parsed, metric=known[counted_metric], thresholds=thresholds)
    if metric is not None and (parsed.metric, metric) != ("failed_rows", "count"):
        raise UnmeasuredError(not_measured(f"the metric {quote(metric)} of {parsed.metric}"))
    if parsed.metric == "freshness" and "threshold" in arguments:
        if (name := UNITS.get(str(unit or "hour"))) is None:
            raise SodaSyntaxError(f"the unit {quote(unit)} of a threshold is none of {join_words(UNITS)}")
        return replace(parsed, metric=name)
    if unit is not None:
        raise UnmeasuredError(not_measured(f"the unit {quote(unit)} of {parsed.metric}"))
    return _of_function(parsed) if parsed.metric == "aggregate" else parsed


def _of_function(parsed: SodaCheck) -> SodaCheck:
    function = str(parsed.settings.get("function") or "")
    if not function:
        raise SodaSyntaxError("an aggregate has a `function`, such as `avg`")
    rest = {name: setting for name, setting in parsed.settings.items() if name != "function"}
    return replace(parsed, metric=FUNCTIONS.get(function.casefold(), function), settings=rest)

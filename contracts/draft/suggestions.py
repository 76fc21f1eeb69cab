"""Suggests what an ODCS property promises, from the values of its column; every suggestion carries its evidence.

A suggestion holds for all the data that it was made from: a rule that some of the values break has a share that allows for it.
"""

from __future__ import annotations

from decimal import Decimal
from math import ceil, sqrt
from typing import TYPE_CHECKING

from lakegate.contracts.draft.ranges import LARGEST_WHOLE, SMALLEST_WHOLE, bounds, first_day, last_day, whole_bounds
from lakegate.contracts.draft.shapes import pattern_of
from lakegate.contracts.draft.yaml_text import Flow, Items, Mapping, YamlEntry
from lakegate.contracts.judge.value_mistakes import BLANKS, MISTAKES, mistake_words
from lakegate.contracts.model.types import GRAMMARS, LogicalType
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.draft.profile import ProfiledColumn

ENOUGH_VALUES = 20
"""Values below which nothing is suggested of their range, words, form or length."""
LONGEST_WORD = 40
MIN_WORDS = 2
MAX_WORDS = 50
"""Distinct values of a list of allowed values; a profile keeps no more of a column."""
MAX_CODES = 10
"""Codes with digits beyond which they seem to be numbered, so that the next one is to be expected."""
REPEATS = 5
"""How often each word of a list occurs on average, at least."""
PERCENT = 100
STEP_OF_LENGTHS = 10


def share(part: int, whole: int) -> str:
    """A share in words: `99.8 % of 40,000`; rounded towards zero, so that 100 % means all."""
    percent = part * PERCENT * 10 // whole / 10 if whole else 0
    return f"{percent:g} % of {whole:,}"


def type_note(column: ProfiledColumn) -> str:
    """The evidence for a type that the file does not declare itself."""
    if column.is_certain:
        return ""
    if not column.present:
        return "no value in the data: any text is accepted, so give it its type"
    almost = column.values.almost
    if almost is not None:
        kind, count = almost
        return f"suggested: only {share(count, column.present)} are of the type {kind.value}"
    spelling = column.values.spelling
    if spelling is not None:
        every = share(column.present, column.present)
        if spelling.format is not None:
            return f"suggested: {every} have the format; only YYYY-MM-DD and the like can have bounds"
        return f"suggested: {every}; as {spelling.type.value} they are {mistake_words(spelling.code)}"
    return f"suggested: {share(column.present, column.present)}"


def numeral(code: str) -> str:
    """The pattern of numbers of which some have a mistake."""
    whole = "[-+]?[0-9]+"
    return rf" *{whole}(?:\.[0-9]+)? *" if code == BLANKS else f"{whole}|{MISTAKES[code].pattern}"


def options(column: ProfiledColumn, *, is_key: bool) -> Mapping | None:
    """`logicalTypeOptions`: bounds, pattern and lengths; None where the values suggest none."""
    spelling = column.values.spelling
    if column.present < ENOUGH_VALUES or column.values.low is None or (spelling and spelling.format):
        return None
    found = list(_lengths(column) if column.type is LogicalType.STRING else _bounds(column, is_key=is_key))
    return Mapping(found) if found else None


def quality(column: ProfiledColumn, *, is_personal: bool) -> Items | None:
    """The quality rules of a column; None where the values suggest none."""
    found = [*_nulls(column), *_almost_typed(column), *([] if is_personal else _words(column))]
    return Items(found) if found else None


def _bounds(column: ProfiledColumn, *, is_key: bool) -> Iterator[YamlEntry]:
    low, high = column.values.low or "", column.values.high or ""
    of = f"of {column.present:,}"
    least: int | Decimal
    most: int | Decimal
    match column.type:
        case LogicalType.INTEGER:
            least, most = whole_bounds(int(low), int(high))
        case LogicalType.NUMBER | LogicalType.DECIMAL:
            least, most = bounds(Decimal(low), Decimal(high))
            low, high = f"{Decimal(low).normalize():f}", f"{Decimal(high).normalize():f}"
        case LogicalType.DATE | LogicalType.TIMESTAMP:
            clock = "T00:00:00Z" if column.type is LogicalType.TIMESTAMP else ""
            yield YamlEntry("minimum", first_day(low, high) + clock, f"suggested: the first {of} is in {low[:4]}")
            yield YamlEntry("maximum", last_day(high) + clock, f"suggested: the last {of} is in {high[:4]}")
            return
        case _:
            return
    if least > SMALLEST_WHOLE:
        yield YamlEntry("minimum", least, f"suggested: the smallest {of} is {low}")
    if not is_key and most < LARGEST_WHOLE:
        yield YamlEntry("maximum", most, f"suggested: the largest {of} is {high}")


def _lengths(column: ProfiledColumn) -> Iterator[YamlEntry]:
    values = column.values
    if _is_listed(column):
        return
    spelling = values.spelling
    is_number = spelling is not None and spelling.type.numeric
    pattern = f"^(?:{numeral(spelling.code)})$" if spelling and is_number else pattern_of(values, column.present)
    if pattern is not None:
        yield YamlEntry("pattern", pattern, f"suggested: {share(column.present, column.present)} match")
    else:
        most = ceil(values.longest * 2 / STEP_OF_LENGTHS) * STEP_OF_LENGTHS
        if values.shortest:
            yield YamlEntry("minLength", 1, f"suggested: the shortest of {column.present:,} has {values.shortest:,}")
        yield YamlEntry(
            "maxLength", max(most, 1), f"suggested: the longest of {column.present:,} has {values.longest:,}"
        )


def _nulls(column: ProfiledColumn) -> Iterator[Mapping]:
    """A largest share of nulls, where some are missing: the measured one and a margin for smaller deliveries."""
    missing = column.rows - column.present
    if not 0 < missing < column.rows or column.rows < ENOUGH_VALUES:
        return
    rate = missing / column.rows
    most = ceil(PERCENT * (rate + 3 * sqrt(rate * (1 - rate) / column.rows)) + 5)
    if most < PERCENT:
        yield _rule("nullValues", None, most, f"suggested: missing in {share(missing, column.rows)}")


def _almost_typed(column: ProfiledColumn) -> Iterator[Mapping]:
    """Of texts of which most are values of another type: the largest share of the others."""
    almost = column.values.almost
    if almost is None:
        return
    kind, count = almost
    pattern = GRAMMARS[kind].pattern
    most = ceil(PERCENT * (column.rows - count) / column.rows) + 1
    if pattern is not None and most < PERCENT:
        argument = YamlEntry("pattern", f"^(?:{pattern})$")
        yield _rule("invalidValues", argument, most, f"suggested: {share(count, column.present)} are of this form")


def _words(column: ProfiledColumn) -> Iterator[Mapping]:
    if _is_listed(column):
        words = sorted(word for word, _ in column.values.words)
        note = f"suggested: {counted(len(words), 'word')} in {counted(column.present, 'value')}"
        yield _rule("invalidValues", YamlEntry("validValues", Flow(words)), None, note)


def _is_listed(column: ProfiledColumn) -> bool:
    """Whether the values are few words, each of which occurs again; many numbered codes have a pattern instead."""
    words = column.values.words
    if (
        column.type is not LogicalType.STRING
        or len(words) < MIN_WORDS
        or column.present < max(ENOUGH_VALUES, REPEATS * len(words))
    ):
        return False
    if column.values.spelling is not None and column.values.spelling.type is not LogicalType.BOOLEAN:
        return False
    if len(words) > MAX_CODES and "9" in (pattern_of(column.values, column.present) or ""):
        return False
    return all(count > 1 and len(word) <= LONGEST_WORD for word, count in words)


def _rule(metric: str, argument: YamlEntry | None, percent: int | None, note: str) -> Mapping:
    arguments = [] if argument is None else [YamlEntry("arguments", Mapping([argument]))]
    limit = (
        [YamlEntry("mustBe", 0)]
        if percent is None
        else [YamlEntry("mustBeLessOrEqualTo", percent), YamlEntry("unit", "percent")]
    )
    return Mapping([YamlEntry("metric", metric, note), *arguments, *limit])

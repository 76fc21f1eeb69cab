"""Suggested constraints: keys, ranges, patterns, personal data, freshness."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from itertools import groupby
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from lakegate.base.text import plural
from lakegate.contract.documents.yaml_writer import Flow, Items, Mapping, Remark, YamlEntry
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.lints.metadata_lints import PERSONAL
from lakegate.verdict.value_mistakes import BLANKS, MISTAKES, mistake_words

if TYPE_CHECKING:
    from lakegate.features.draft.found_fields import Profile, ProfiledColumn, Values

# ---- Freshness ----


CURRENT = timedelta(days=31)
"""Data that is older is a sample: a limit would reject the next delivery of the same age."""
MAX_ABSENT = 0.1

_NAMES = (
    "updated",
    "modified",
    "changed",
    "loaded",
    "exported",
    "event",
    "created",
    "placed",
    "timestamp",
    "time",
    "date",
    "_at",
    "_on",
)

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def freshness(columns: Sequence[ProfiledColumn], dataset: str, now: datetime) -> Iterator[YamlEntry | Remark]:
    """The service level of the column that shows when a row was made; a comment where the newest row is old."""
    known = [entry for entry in columns if _shows_time(entry)]
    if not known:
        return
    column = min(known, key=_freshness_rank)
    newest = datetime.fromisoformat(column.values.high or "")
    newest = newest if newest.tzinfo else newest.replace(tzinfo=UTC)
    age = now - newest
    if age < timedelta(0):
        yield Remark(f"The newest {column.name} lies in the future: no freshness is suggested.")
    elif age > CURRENT:
        yield Remark(
            f"The newest {column.name} is {plural(age.days, 'day')} old. Once deliveries are current, promise it:"
        )
        yield Remark(f"slaProperties: [{{property: freshness, value: 2, unit: d, element: {dataset}.{column.name}}}]")
    else:
        days = max(2, ceil(age / timedelta(days=1)) * 2)
        level = [
            YamlEntry("property", "freshness", f"suggested: the newest of {column.present:,} is {_age_words(age)} old"),
            YamlEntry("value", days),
            YamlEntry("unit", "d"),
            YamlEntry("element", f"{dataset}.{column.name}"),
        ]
        yield YamlEntry("slaProperties", Items([Mapping(level)]))


def _shows_time(column: ProfiledColumn) -> bool:
    is_moment = column.type in {LogicalType.DATE, LogicalType.TIMESTAMP} and column.values.high is not None
    return (
        is_moment and column.rows - column.present <= MAX_ABSENT * column.rows and bool(_PLAIN.fullmatch(column.name))
    )


def _freshness_rank(column: ProfiledColumn) -> tuple[bool, int]:
    """Timestamps first, then by the words of the name."""
    name = column.name.casefold()
    place = next((at for at, word in enumerate(_NAMES) if word in name), len(_NAMES))
    return column.type is LogicalType.DATE, place


def _age_words(age: timedelta) -> str:
    hours = int(age / timedelta(hours=1))
    return plural(age.days, "day") if age.days > 1 else plural(hours, "hour")


# ---- Personal data ----


FORMS = {
    "an email address": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "an IBAN": r"[A-Z]{2}[0-9]{2}[ ]?(?:[A-Z0-9]{4}[ ]?){2,7}[A-Z0-9]{1,4}",
    "a telephone number": r"\+[0-9][0-9 ()/.-]{6,20}",
    "an IPv4 address": r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}",
    "a payment card number": r"[0-9]{4}(?:[ -][0-9]{4}){3}",
}
"""Forms of whole values, as patterns of RE2."""
PERSONAL_SHARE = 0.8
"""The share of a column's values with a form that makes the column personal."""
_PERSONAL_NAMES = re.compile(
    r"(?:^|[_ .-])(?:surname|nickname|forename|given_?name|family_?name|user_?name|customer_?name|contact|street|address|"
    r"postal_?code|zip_?code|dob|gender|sex|salary|tax_?id|national_?id|social_?security|driver_?licen[cs]e|license_?plate|"
    r"race|ethnicity|ethnic_?group|religion|latitude_?home|telefon|handy|vorname|nachname|geburt\w*|anschrift|strasse|nome|sobrenome|endereco|telefone|prenom|"
    r"adresse|nombre|apellidos?|correo|direccion)(?:$|[_ .-])",
    re.IGNORECASE,
)

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR = re.compile(r"[ .-]+")


def is_named_personal(name: str) -> bool:
    """Whether the name of a column is one of personal data, in any spelling: `postal_code`, `postalCode`, `Postal Code`."""
    words = _SEPARATOR.sub("_", _WORD_BORDER.sub("_", name))
    return any(pattern.search(text) for pattern in (PERSONAL, _PERSONAL_NAMES) for text in (words, name))


def why_personal(column: ProfiledColumn) -> str | None:
    """The reason why a column seems to contain personal data, in words; None if it does not."""
    if is_named_personal(column.name):
        return "its name is one of personal data"
    found = next((form for form in column.values.forms if form[1] >= PERSONAL_SHARE * max(1, column.present)), None)
    return (
        None
        if found is None
        else f"{found[1]:,} of {plural(column.present, 'value')} {'looks' if found[1] == 1 else 'look'} like {found[0]}"
    )


# ---- Ranges with a margin ----


MARGIN = Decimal("0.5")
"""The share of the spread that is added at each end."""
MOST_DIGITS = 100
"""Digits that are computed with: more than twice as many as a decimal has."""
DIGITS = 2
"""Digits of a bound that are written; it is rounded outwards."""
YEARS_AHEAD = 10
LAST_YEAR = 9999
SMALLEST_WHOLE, LARGEST_WHOLE = -(2**63), 2**63 - 1


def bounds(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds around the numbers from `low` to `high`; what has one sign keeps it."""
    with localcontext(prec=MOST_DIGITS):
        spread = high - low or abs(high) or Decimal(1)
        least = _round_outwards(low - MARGIN * spread, spread, ROUND_FLOOR)
        most = _round_outwards(high + MARGIN * spread, spread, ROUND_CEILING)
    return (max(least, Decimal(0)) if low >= 0 else least), (min(most, Decimal(0)) if high <= 0 and low < 0 else most)


def whole_bounds(low: int, high: int) -> tuple[int, int]:
    """The same of whole numbers, within 64 bits; 0 and 1 are marks, which have no margin."""
    if (low, high) == (0, 1):
        return low, high
    least, most = bounds(Decimal(low), Decimal(high))
    least, most = least.to_integral_value(ROUND_FLOOR), most.to_integral_value(ROUND_CEILING)
    return max(int(least), SMALLEST_WHOLE), min(int(most), LARGEST_WHOLE)


EPOCHS: Final = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
"""Units in which programs count times from 1970."""
_OF_EPOCH: Final = (946_684_800, 4_102_444_800)
"""Seconds from 1970 to the years 2000 and 2100."""
_LONGEST_SPAN: Final = 631_152_000
"""Seconds of 20 years. Whole numbers that are further apart are seldom times in seconds, which have few digits."""


def unit_of_epoch(low: int, high: int) -> str | None:
    """The unit in which numbers are times of this century, as programs count them from 1970; None where they are none."""
    begin, end = _OF_EPOCH
    for unit, parts in EPOCHS.items():
        if begin * parts <= low <= high < end * parts:
            return unit if parts > 1 or high - low <= _LONGEST_SPAN else None
    return None


def first_day(low: str, high: str) -> str:
    """The first day of a year that lies before dates from `low` to `high`, by half of their spread and at least a year."""
    first, last = int(low[:4]), int(high[:4])
    return f"{max(1, first - max(1, (last - first) // 2)):04}-01-01"


def last_day(high: str) -> str:
    """The last day of a year that lies ten years after a date."""
    return f"{min(LAST_YEAR, int(high[:4]) + YEARS_AHEAD):04}-12-31"


def _round_outwards(number: Decimal, spread: Decimal, rounding: str) -> Decimal:
    """The number with so many digits as make two of the spread, rounded outwards."""
    step = Decimal(1).scaleb(spread.adjusted() - DIGITS + 1)
    return (number / step).to_integral_value(rounding) * step


_YEAR, _MONTH, _DAY = "(?:19|20)[0-9]{2}", "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_DATED = re.compile(rf"(?<![0-9])(?:{_YEAR}([-_.]?){_MONTH}\1{_DAY}|{_YEAR}[-_.]{_MONTH})(?![0-9])", re.ASCII)


def has_date(name: str) -> bool:
    """Whether the name of a file has a day, or a month, as exports write it: `orders_2026-11-27.csv`."""
    return _DATED.search(name) is not None


# ---- Patterns from shapes ----


UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
SETS = ("[A-Z0-9]", "[0-9a-f]")
"""Sets of characters of codes."""
DIGIT = ".*[0-9].*"
CODES = (UUID, *(f"{entry}+" for entry in SETS), DIGIT)
"""Forms of whole values, as patterns of RE2, that recognise codes of too many shapes."""
MAX_FORMS = 3
"""Alternatives of a pattern; values of more forms have none."""
MAX_RUNS = 12
"""Runs of one kind of character in a form."""
LONGEST_CODE = 5
"""Letters of a code without a digit, such as a currency."""
_CLASSES = {"A": "[A-Z]", "a": "[a-z]", "9": "[0-9]"}
_LITERAL = re.compile(r"[ #%&,/:;=@_-]|[.+()*|]")
_ESCAPED = frozenset(".+()*|/")
Run = tuple[str, int]


def pattern_of(values: Values, present: int) -> str | None:
    """The pattern that all values match; None where their shapes are too many, or say nothing."""
    return _of_shapes(values, present) or _of_codes(values, present)


def _of_codes(values: Values, present: int) -> str | None:
    """The pattern of UUIDs, or of codes of one length of which some have digits."""
    counts = dict(values.codes)
    if counts.get(UUID) == present:
        return f"^{UUID}$"
    if values.shortest != values.longest or not counts.get(DIGIT):
        return None
    members = next((item for item in SETS if counts[f"{item}+"] == present), None)
    return members and f"^{members}{{{values.longest}}}$"


def _of_shapes(values: Values, present: int) -> str | None:
    if not values.shapes or sum(count for _, count in values.shapes) != present:
        return None
    forms: dict[str, list[list[Run]]] = {}
    for shape, _ in values.shapes:
        runs = [(character, len(list(same))) for character, same in groupby(shape)]
        forms.setdefault("".join(character for character, _ in runs), []).append(runs)
    if len(forms) > MAX_FORMS or not all(_is_telling(form, found) for form, found in forms.items()):
        return None
    prefix = _prefix(values) if len(forms) == 1 else ""
    written = sorted(_form(found, prefix) for found in forms.values())
    return f"^{written[0]}$" if len(written) == 1 else f"^(?:{'|'.join(written)})$"


def _is_telling(form: str, found: list[list[Run]]) -> bool:
    """Whether the form of values is one of codes, not of words."""
    if not form or len(form) > MAX_RUNS or not all(item in _CLASSES or _LITERAL.fullmatch(item) for item in form):
        return False
    return "9" in form or (form == "A" and len(found) == 1 and found[0][0][1] <= LONGEST_CODE)


def _prefix(values: Values) -> str:
    """The letters and signs that all values begin with."""
    pairs = zip(values.low or "", values.high or "", strict=False)
    same = []
    for low, high in pairs:
        if low != high or low.isdigit():
            break
        same.append(low)
    return "".join(same)


def _form(found: list[list[Run]], prefix: str) -> str:
    """One form with the numbers of characters that its runs have; its first letters are those of the prefix."""
    written, at = [], 0
    for runs in zip(*found, strict=True):
        character, sizes = runs[0][0], [size for _, size in runs]
        low, high = min(sizes), max(sizes)
        known = prefix[at : at + low] if low == high else ""
        at += low if low == high else len(prefix)
        if character not in _CLASSES:
            written.append((f"\\{character}" if character in _ESCAPED else character) + _times(low, high))
        else:
            written.append(known if len(known) == low else _CLASSES[character] + _times(low, high))
    return "".join(written)


def _times(low: int, high: int) -> str:
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    return f"{{{low},{high}}}"


# ---- Suggestions of a column ----
# A suggestion holds for all the data that it was made from: a rule that some of the values break has a share that allows for
# it.


ENOUGH_VALUES = 20
"""Values below which nothing is suggested of their range, words, form or length."""
LONGEST_WORD = 40
MIN_WORDS = 2
MAX_WORDS = 50
"""Distinct values of a list of allowed values; a profile keeps no more of a column."""
MAX_CODES = 10
"""Codes with digits beyond which they seem to be numbered, so that the next one is to be expected."""
REPEATS = 5
"""The least average number of occurrences of each word of a list."""
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
    almost_spelled, spelling = column.values.almost_spelled, column.values.spelling
    if almost_spelled is not None:
        other, count = almost_spelled
        words = f"of the type {other.type.value}; they are {mistake_words(other.code)}"
        return f"suggested: only {share(count, column.present)} are {words}"
    if spelling is not None:
        every = share(column.present, column.present)
        has_format = f"{every} have the format; only YYYY-MM-DD and the like can have bounds"
        is_text = f"{every}; as {spelling.type.value} they are {mistake_words(spelling.code)}"
        return f"suggested: {is_text if spelling.format is None else has_format}"
    return f"suggested: {share(column.present - column.strays, column.present)}"


OF_SOME = ("sign-behind", "parentheses", "other-minus", "apostrophe")
"""Mistakes of some numbers, as a rule those below 0: the others are written as numbers are."""


def numeral(code: str) -> str:
    """The pattern of numbers of which some have a mistake."""
    whole = "[-+]?[0-9]+"
    if code in OF_SOME:
        whole = "[-+]?[0-9][0-9.,' ]*"
    if code == "apostrophe":
        return rf"['\u2018\u2019\u00b4`]?{whole}"
    return rf" *{whole}(?:\.[0-9]+)? *" if code == BLANKS else f"{whole}|{MISTAKES[code].pattern}"


def options(column: ProfiledColumn, *, is_key: bool) -> Mapping | None:
    """`logicalTypeOptions`: bounds, pattern and lengths; None where the values suggest none."""
    spelling = column.values.spelling
    if column.present < ENOUGH_VALUES or column.values.low is None or (spelling and spelling.format):
        return None
    entries = list(_lengths(column) if column.type is LogicalType.STRING else _bounds(column, is_key=is_key))
    return Mapping(entries) if entries else None


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
            if (unit := unit_of_epoch(int(low), int(high))) is not None:
                yield from _bounds_of_epoch(unit, int(low), int(high), of, is_key=is_key)
                return
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


def _bounds_of_epoch(unit: str, low: int, high: int, of: str, *, is_key: bool) -> Iterator[YamlEntry]:
    """Bounds of times that are written as numbers, as wide as those of dates: the next day is later than all of today."""
    first, last = (datetime.fromtimestamp(each // EPOCHS[unit], UTC).date().isoformat() for each in (low, high))
    found = [("minimum", first_day(first, last), "first", first), ("maximum", last_day(last), "last", last)]
    for name, day, which, at in found[:1] if is_key else found:
        number = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()) * EPOCHS[unit]
        yield YamlEntry(name, number, f"suggested: as {unit} since 1970 the {which} {of} is in {at[:4]}")


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
        note = f"suggested: {plural(len(words), 'word')} in {plural(column.present, 'value')}"
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


# ---- Keys ----


_EXACT = frozenset(
    {LogicalType.STRING, LogicalType.INTEGER, LogicalType.DECIMAL, LogicalType.DATE, LogicalType.TIMESTAMP}
)
_OF_ANY_NAME = frozenset({LogicalType.STRING, LogicalType.DATE, LogicalType.TIMESTAMP})
"""Types of keys that need not be named as one: numbers that differ in one file are measures more often."""
_PERIOD = re.compile(
    r"(?:^|[_ .-])(?:years?|yr|quarter|qtr|month|week|day|hour|jahr|quartal|monat|woche|tag|ano|mes|annee|année|mois)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:^|[_ .-])(?:id|key|code|uuid|guid|no|nr|num|number|ref|reference|sku|isbn)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def sounds_like_key(name: str) -> bool:
    """Whether the name of a column is one of keys: `order_id`, `orderId`, `code`."""
    return _NAME.search(_CAMEL.sub("_", name)) is not None


def primary_key(profile: Profile) -> tuple[str, ...]:
    """The columns of the primary key, in order; none where no columns are unique, or rows are few."""
    if profile.rows < ENOUGH_VALUES:
        return ()
    by_name = {column.name: column for column in profile.columns}
    rising = profile.rising
    singles = [name for name in profile.unique if name in rising or may_be_key(name, by_name[name].meaning)]
    if singles:
        # names of keys first, then numbers of the rows, then short values, then the order of the file
        return (
            min(
                singles,
                key=lambda name: (
                    not sounds_like_key(name),
                    name not in rising,
                    min(by_name[name].values.longest, 40) // 10,
                    singles.index(name),
                ),
            ),
        )
    return profile.pairs[0] if profile.pairs else ()


def may_be_key(name: str, of: LogicalType) -> bool:
    """Whether a column of the name and type may be a key if no two rows share a value of it.

    The names of the people in one file may all differ, and no two rows be about one person in none. A number that is not named
    as a key or as a period, such as `year`, is a measure.
    """
    if sounds_like_key(name):
        return of in _EXACT
    return (of in _OF_ANY_NAME and not is_named_personal(name)) or (of is LogicalType.INTEGER and names_period(name))


def names_period(name: str) -> bool:
    """Whether a name is one of periods, which whole numbers count: `year`, `fiscal_quarter`."""
    return _PERIOD.search(_CAMEL.sub("_", name)) is not None


def others(profile: Profile, key: tuple[str, ...]) -> tuple[str, ...]:
    """Columns beside the primary key that are unique and are named as keys, or count the rows."""
    known = profile.unique if profile.rows >= ENOUGH_VALUES else ()
    return tuple(name for name in known if name not in key and (sounds_like_key(name) or name in profile.rising))

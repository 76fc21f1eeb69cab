"""Causes found in the columns of a file: misspelled names, missing columns, an exported index, other types."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.words import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Columns, Result

    Found = tuple[str, str, tuple[str, ...], tuple[str, ...]]
    """Code, message, fields, ids of the outcomes it explains."""

MAX_NAMED = 5
MAX_COMPARED = 200
LONGEST_COMPARED = 100
NO_NAMES: Mapping[str, str] = MappingProxyType({})
INDEX = re.compile(r"|Unnamed: [0-9]+(?:_level_[0-9]+)?|__index_level_[0-9]+__|index|level_[0-9]+|X|\.\.\.1")
"""Names that pandas and R give to a column of row numbers."""
_INVISIBLE = re.compile(r"[\s\u00a0\u200b\u200c\u200d\ufeff]+")


def plain(name: str) -> str:
    """A name without spaces, case, accents, separators and quotes."""
    letters = unicodedata.normalize("NFKD", name[:LONGEST_COMPARED]).casefold()
    return "".join(each for each in letters if each.isalnum())[:LONGEST_COMPARED]


def renamed(found: Iterable[str], lacking: Iterable[str], physical: Mapping[str, str] = NO_NAMES) -> dict[str, str]:
    """The missing declared names that the file has in another spelling, or as their `physical` names, by declared name."""
    found, lacking = tuple(islice(found, MAX_COMPARED)), tuple(islice(lacking, MAX_COMPARED))
    there = set(found)
    own = {name: physical[name] for name in lacking if physical.get(name) in there}
    lacking = tuple(name for name in lacking if name not in own)
    pairs = own | respelled(tuple(each for each in found if each not in own.values()), lacking)
    taken = set(pairs.values())
    left = {plain(each): each for each in found if each not in taken}
    left.pop("", None)
    for name in lacking:
        near = None if name in pairs else closest(plain(name), left)
        if near is not None:
            pairs[name] = left.pop(near)
    return pairs


def respelled(found: Sequence[str], lacking: Sequence[str]) -> dict[str, str]:
    """Those that the file has but for blanks, case, accents and separators, by declared name."""
    left = {plain(each): each for each in reversed(found[:MAX_COMPARED])}
    left.pop("", None)
    return {name: left.pop(short) for name in lacking[:MAX_COMPARED] if (short := plain(name)) in left}


def differ_in(pairs: dict[str, str], physical: Mapping[str, str] = NO_NAMES) -> str:
    """The differences between the names of a file and the declared ones."""
    if all(physical.get(name) == there for name, there in pairs.items()):
        return "physical names (`physicalName`), where files have the `name`"
    if all(_INVISIBLE.sub("", there) == _INVISIBLE.sub("", name) for name, there in pairs.items()):
        return "blanks in the names"
    return (
        "another case"
        if all(there.casefold() == name.casefold() for name, there in pairs.items())
        else "another spelling"
    )


def named(names: Iterable[str]) -> str:
    """A list of names, for messages."""
    every = list(names)
    more = f" and {len(every) - MAX_NAMED} more" if len(every) > MAX_NAMED else ""
    return ", ".join(every[:MAX_NAMED]) + more


def shown_pairs(pairs: dict[str, str]) -> str:
    """Pairs of the file's names and the declared ones, for messages."""
    return named(f"{there!r} should be {name}" for name, there in pairs.items())


def column_causes(plan: Plan, result: Result, bad: dict[str, CheckOutcome]) -> Iterator[Found]:
    """The causes, each with the outcomes that it explains."""
    columns = result.columns
    if columns is None:
        return
    declared = {field.name for field in plan.columns}
    absent = [name for name in columns.absent if name in declared]
    pairs = renamed(columns.extra, absent, plan.physical_names)
    readers = _readers(plan, columns, bad)
    if pairs:
        extra = ("file/additional-columns",) if set(columns.extra) <= set(pairs.values()) else ()
        subject = "the keys have" if plan.storage.format.is_json else "the header has"
        words = f"{subject} {differ_in(pairs, plan.physical_names)}: {shown_pairs(pairs)}"
        yield "column-names", words, (), (*_reading(readers, pairs), *extra)
    lacks = [name for name in absent if name not in pairs]
    failing = {own for each, own in readers.items() if each in bad and bad[each].status is Status.FAIL}
    demanded = [name for name in lacks if frozenset({name}) in failing]
    optional = [name for name in lacks if frozenset({name}) not in failing]
    for lacking, remedies in (
        (demanded, (": deliver it", ": deliver them")),
        (optional, (", which is optional", ", which are optional")),
    ):
        if lacking:
            nouns = ("key", "keys") if plan.storage.format.is_json else ("column", "columns")
            noun, remedy = (words[len(lacking) > 1] for words in (nouns, remedies))
            where = "no record has the" if plan.storage.format.is_json else "the file has no"
            message = f"{where} {noun} {named(lacking)}{remedy}"
            yield "missing-columns", message, (), _reading(readers, lacking)
    index = [each for each in columns.extra if INDEX.fullmatch(each)]
    if index and columns.found[:1] == (index[0],):
        words = "the first column only numbers the rows: write the file without it (pandas: index=False; R: row.names = FALSE)"
        yield "index-column", words, (), ("file/additional-columns",) if len(columns.extra) == 1 else ()
    yield from _foreign(plan, columns)


def _readers(plan: Plan, columns: Columns, bad: dict[str, CheckOutcome]) -> dict[str, frozenset[str]]:
    """The bad outcomes of checks that read absent fields, each with the columns of these."""
    owners, absent = {field.name: field.place[0].removeprefix(".") for field in plan.fields}, frozenset(columns.absent)
    found = ((check.id, check.reads & absent) for check in plan.checks if check.id in bad)
    return {name: frozenset(owners[each] for each in lacking) for name, lacking in found if lacking}


def _reading(readers: dict[str, frozenset[str]], names: Iterable[str]) -> tuple[str, ...]:
    """The outcomes that are bad because one of the columns, or its nested field, is missing."""
    own = frozenset(names)
    return tuple(each for each, lacking in readers.items() if lacking <= own)


def _foreign(plan: Plan, columns: Columns) -> Iterator[Found]:
    """Columns that are stored with other types than declared."""
    stored = {each.field: each.physical for each in columns.foreign}
    checks = [check for check in plan.checks if check.kind == "type" and set(check.fields) & set(stored)]
    if not checks:
        return
    fields = [name for check in checks for name in check.fields]
    wanted = {field.name: field.type.value for field in plan.fields}
    message = named(f"{name} is stored as {stored[name]}, not as {wanted[name]}" for name in fields)
    yield "column-types", f"{message}: convert before the file is written", (), tuple(check.id for check in checks)

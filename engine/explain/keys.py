"""Keys of records against the declared fields, in formats without a header: absent fields, and undeclared keys."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.judge.column_causes import LONGEST_COMPARED, NO_NAMES, plain, renamed
from lakegate.contracts.judge.masks import mask
from lakegate.contracts.judge.no_header import why_no_keys
from lakegate.contracts.plan.result import Columns
from lakegate.engine.read.chunk import LINE, of_object
from lakegate.engine.read.json_rows import OBJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.engine.measure.partial import Partial
    from lakegate.engine.read.chunk import Source
    from lakegate.engine.read.json_rows import Place

MAX_NAMED = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\[\])?\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,8}")
_LOOKED_AT = 20
"""Records whose form is looked at, where they have none of the declared keys."""


def columns_of_records(plan: Plan, source: Source, partials: Sequence[Partial]) -> Columns:
    """The keys of all records as the columns of a delivery: a field is absent if no record has its key.

    UnreadableError where no record of an object has a declared key: that is another dataset.
    """
    declared = {(f".{field.name}",) for field in plan.columns}
    for part in dict.fromkeys(share.part for share in source.shares):
        own = [each for each in partials if source.shares[each.number].part == part]
        keys = {key for each in own for key in each.keys}
        if (OBJECT,) in keys and declared and not keys & declared:
            with of_object(part):
                raise UnreadableError(
                    "header", why_no_keys(_first_records(source, own), _names(plan), plan.physical_names)
                )
    seen = {key for each in partials for key in each.keys}
    absent = tuple(field.name for field in plan.fields if _is_absent(field, seen))
    extra = undeclared({key for each in partials for key in each.extra}, absent, plan.physical_names)
    found = (*(each for each in _names(plan) if each not in absent), *(each for each in extra if "." not in each))
    return Columns(found, absent, extra)


def undeclared(
    keys: Iterable[str], absent: Iterable[str] = (), physical: Mapping[str, str] = NO_NAMES
) -> tuple[str, ...]:
    """Undeclared keys of records: those that are absent ones in another spelling, and the first others, sorted.

    Keys of objects can be data themselves: what neither looks like a name nor is spelled like an absent one is masked.
    """
    every = sorted({re.sub(r"\[[0-9]+\]", "[]", key) for key in keys})
    pairs = renamed(every, absent, physical)
    first = islice((key for key in every if key not in pairs.values()), MAX_NAMED)
    known = {plain(name) for name in pairs}
    found = sorted({*pairs.values(), *first})
    return tuple(dict.fromkeys(key if _is_name(key, known) else mask(key) for key in found))


def _is_name(key: str, absent: set[str]) -> bool:
    return bool(_NAME.fullmatch(key)) or (len(key) <= LONGEST_COMPARED and plain(key) in absent)


def _names(plan: Plan) -> tuple[str, ...]:
    return tuple(field.name for field in plan.columns)


def _is_absent(field: PlanField, seen: set[Place]) -> bool:
    """Whether an object is there that should have the key, or that of a parent, and none has it."""
    places = [field.place[: at + 1] for at, step in enumerate(field.place) if step.startswith(".")]
    return any(place not in seen and (*place[:-1], OBJECT) in seen for place in places)


def _first_records(source: Source, partials: Iterable[Partial]) -> list[dict[str, object]]:
    """The first objects of those partial results that have some."""
    share = next(source.shares[each.number] for each in partials if (OBJECT,) in each.keys)
    found: list[dict[str, object]] = []
    for table in source.originals(share):
        for line in table.column(LINE).to_pylist():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            found += [value] if isinstance(value, dict) else []
            if len(found) == _LOOKED_AT:
                return found
    return found

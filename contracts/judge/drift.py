"""Drift: what a contract promises, and an accepted object does not have.

Only the presence of fields and their types count, nested and repeated ones included: a producer may add columns freely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Columns

Kind = Literal["absent", "type", "unreadable", "missing", "replaced"]


class SchemaDifference(NamedTuple):
    """One difference between an accepted object and a contract."""

    kind: Kind
    """`absent`: the field is not there; `type`: it has another type. Of the whole object: `unreadable`, it is not a file as the
    contract declares; `missing`, it was deleted; `replaced`, it is another version than the manifest lists."""
    field: str = ""
    """The name of a declared field; empty for the whole object."""
    found: str = ""
    """What is there instead: the type in the file, or why it cannot be read. Text of a producer: not for events."""


def differences(plan: Plan, accepted_by: Plan, columns: Columns) -> tuple[SchemaDifference, ...]:
    """What an object lacks of a plan, in the order of its fields; `columns` are its fields against that plan.

    A field that the plan which accepted the object did not declare is no difference: the contract has grown since. Of what is
    absent, or of another type, the parts are not listed.
    """
    before = {each.place for each in accepted_by.fields}
    foreign = {each.field: each.physical for each in columns.foreign}
    found: list[SchemaDifference] = []
    without_parts: list[tuple[str, ...]] = []
    for field in plan.fields:
        if field.name not in foreign and field.name not in columns.absent:
            continue
        if any(field.place[: len(place)] == place for place in without_parts):
            continue
        without_parts.append(field.place)
        if field.place in before:
            kind: Kind = "type" if field.name in foreign else "absent"
            found.append(SchemaDifference(kind, field.name, foreign.get(field.name, "")))
    return tuple(found)

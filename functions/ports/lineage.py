"""The lineage of a delivery: what was read, what was checked, what was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lakegate.contracts.model.origin import FieldLineage


class LineageDataset(NamedTuple):
    """An object, or all objects below a folder."""

    bucket: str
    key: str


class LineageColumn(NamedTuple):
    """A declared field."""

    name: str
    type: str
    parts: tuple[LineageColumn, ...] = ()
    """The fields of a record; `_element` of a list; `key` and `value` of a map."""


class UsedEngine(NamedTuple):
    """What evaluated a delivery: `spark` in a job, else `duckdb`."""

    name: str
    version: str


class Assertion(NamedTuple):
    """A check that was measured."""

    id: str
    kind: str
    """Of its rule, such as `required`."""
    column: str
    """Empty if it is about several fields or the whole dataset."""
    success: bool
    blocks: bool
    """Whether a delivery that breaks it is rejected; else it is warned of."""
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class JudgedDelivery:
    """One delivery that ended."""

    id: str
    """Of the message about it: the same for every repetition; another one after a replay."""
    line: str
    """`<contract>/<dataset>_v<major>`."""
    landed: LineageDataset
    published: LineageDataset | None
    """The accepted data of its line; None if it was not accepted."""
    lake: str
    """The bucket of the stack, by which stacks are distinguished."""
    began: str
    ended: str
    """RFC 3339, UTC."""
    contract: str = ""
    """Empty, as everything below: it is not known any more."""
    version: str = ""
    """Of the contract."""
    landed_version: str = ""
    """S3 version id of what landed."""
    size: int | None = None
    """Bytes of what landed."""
    rows: int | None = None
    published_rows: int | None = None
    columns: tuple[LineageColumn, ...] = ()
    lineage: tuple[FieldLineage, ...] = ()
    """Where columns come from, as the contract declares it."""
    assertions: tuple[Assertion, ...] = ()
    engine: UsedEngine | None = None
    """None where nothing was evaluated."""
    reasons: tuple[str, ...] = ()
    """Why it was not accepted, or accepted with warnings: texts with masked values, or a code."""

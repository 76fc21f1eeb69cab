"""`lakegate drift`: the contract of a dataset against what is really in `accepted/`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Final

from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.options import DatasetName
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.drift.schema_drift import OBJECTS, WORDS
from lakegate.features.drift.schema_drift import drift as report_of
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.dependencies import Dependencies

DRIFTED = 1
SHOWN: Final = 20
"""Objects that the table lists."""


COLUMNS: Final = ("height", "version", "object", "field", "difference")


@dataclass(frozen=True, slots=True)
class FieldDrift:
    """A kind of difference, and in how many objects it is."""

    difference: str
    field: str | None
    objects: int


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """A difference between an object and the contract."""

    difference: str
    field: str | None
    found: str | None


@dataclass(frozen=True, slots=True)
class DriftedObject:
    """An accepted object that differs from the contract."""

    height: int
    workload: str
    version: str
    key: str
    differences: tuple[ObjectDifference, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """Compared objects of a dataset, and their differences to the contract."""

    dataset: str = field(metadata=DATASET_KEY)
    contract_version: str
    compared: int
    fields: tuple[FieldDrift, ...]
    drifted: tuple[DriftedObject, ...]


@gate_command
def drift(
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    contract_version: Annotated[
        str, Option(help="The published version to compare with; by default the current one.")
    ] = "",
    objects: Annotated[int, Option(min=1, max=1_000, help="How many accepted objects, the newest first.")] = OBJECTS,
) -> CommandResult[Drift]:
    """Compare the contract with the schemas of the newest accepted objects: declared fields must be there, others are free.

    Of each object only the head or the footer is read. Nested and repeated fields are compared, too.

    Example: lakegate drift orders --contract-version 1.2.0

    Exit code: 0 no drift, 1 drift, 2 it cannot be compared.
    """
    name = dataset_named(dependencies, dataset)
    fields = select_fields(Drift, report_of(dependencies, name, contract_version, objects))
    return CommandResult(fields, _in_words(fields), DRIFTED if fields.drifted else 0)


def _in_words(found: Drift) -> Iterator[Word]:
    what = f"{found.dataset} against version {found.contract_version}"
    if not found.compared:
        yield f"{what}: nothing was accepted yet."
        return
    objects = plural(found.compared, "object")
    count = plural(len(found.drifted), f"of {objects} differs", f"of {objects} differ")
    yield f"{what}: {count if found.drifted else f'{objects}, no drift'}."
    if found.drifted:
        yield Grid(COLUMNS, _rows(found))
    if (more := len(found.drifted) - SHOWN) > 0:
        yield f"{plural(more, 'more object')}: --json lists all."


def _rows(found: Drift) -> Iterator[tuple[str, ...]]:
    for stored in found.drifted[:SHOWN]:
        for one in stored.differences:
            words = f"{WORDS[one.difference]}: {one.found}" if one.found else WORDS[one.difference]
            yield str(stored.height), stored.version, stored.key.partition("/ingest_date=")[2], one.field or "", words

"""Rejected rows as typed files: each record as JSON, with the rules that it breaks. Written by the run that judges."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.value_masks import mask
from lakegate.contract.field_paths import steps_of
from lakegate.engine import accepted_rows
from lakegate.engine.masked_samples import lines_before
from lakegate.engine.read.csv import CsvSource, Dialect, parse
from lakegate.engine.read.data_source import LINE, ROW, Source
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.json_texts import MalformedError, NumberText, parse_object
from lakegate.engine.read.stored_columns import map_moments
from lakegate.engine.rejected_rows import SEPARATOR, reasons_of
from lakegate.features.tables.rejected_columns import REJECTED_SCHEMA
from lakegate.plan.plan import OF_MAPS, Plan

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from lakegate.engine.accepted_rows import AcceptedRows
    from lakegate.plan.request import Request


@dataclass(frozen=True, slots=True)
class RejectedShare:
    """A share with rejected records."""

    number: int
    before: int
    """Lines of the same object before it."""
    lines: NDArray[np.int64]
    masks: NDArray[np.int64]
    """As `lakegate.engine.rejected_rows.Rejected.reasons` has them."""


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """The rejected rows of consecutive shares, which become one file (`lakegate.engine.accepted_rows.RowsOfFile`)."""

    shares: tuple[RejectedShare, ...]

    def tables(self, columns: RejectedColumns, _connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """The rows as columns of the table."""
        for share in self.shares:
            for found in columns.source.originals(columns.source.shares[share.number]):
                is_judged, reasons = reasons_of(found, share.lines, share.masks, columns.checks)
                rejected = np.array([each != "" for each in reasons], np.bool_)
                if rejected.any():
                    own = found.filter(pa.array(rejected))
                    texts = [each for each in reasons if each]
                    yield columns.table(share, own, is_judged[rejected], texts)


def rejected_rows_of(accepted: AcceptedRows) -> Iterator[RejectedRows]:
    """The rejected rows of each file, divided as accepted ones are: no engine writes others."""
    rejected, held, rows = accepted.rejected, list[RejectedShare](), 0
    before = lines_before(accepted.source, rejected.partials)
    for partial in rejected.partials:
        lines, masks = rejected.reasons(partial)
        own = int((masks != 0).sum()) + sum(each.rows for each in partial.malformed.values())
        if own:
            held.append(RejectedShare(partial.number, before[partial.number], lines, masks))
            rows += own
        if rows >= accepted_rows.FILE_ROWS or len(held) >= accepted_rows.FILE_SHARES:
            yield RejectedRows(tuple(held))
            held, rows = [], 0
    if held:
        yield RejectedRows(tuple(held))


@dataclass(frozen=True)
class RejectedColumns:
    """The columns of rejected rows of a delivery."""

    plan: Plan
    source: Source
    checks: tuple[str, ...]
    """As `lakegate.engine.rejected_rows.Rejected` has them."""
    delivery: str
    judged_at: datetime
    schema: pa.Schema = field(default=REJECTED_SCHEMA)

    @staticmethod
    def of(accepted: AcceptedRows, request: Request) -> RejectedColumns:
        """Of an accepted delivery that a request is about."""
        judged_at = datetime.fromisoformat(request.judged_at)
        checks = accepted.rejected.checks
        return RejectedColumns(accepted.plan, accepted.source, checks, request.workload, judged_at)

    def table(
        self, share: RejectedShare, found: pa.Table, is_judged: NDArray[np.bool_], reasons: list[str]
    ) -> pa.Table:
        """Some rejected records of a share (`Source.originals`)."""
        count = len(found)
        values: dict[str, Any] = {
            "delivery": [self.delivery] * count,
            "contract_version": [self.plan.contract_version] * count,
            "time": [self.judged_at] * count,
            "part": [self.source.shares[share.number].part] * count,
            "row": pc.add(found.column(ROW), share.before + 1).to_pylist(),
            "reasons": [each.split(SEPARATOR) for each in reasons],
            "record": list(_records(self.plan, self.source, found, is_judged)),
        }
        return pa.table(values, schema=self.schema)


# ---- Records as JSON ----
# A record of CSV or of a table is an object of its columns, values of CSV are texts, and null is the empty one without quotes. A
# record that cannot be read is a text.
#
# Where a field is classified, and not as public, its values are masked, and so is all that nobody can tell from it: a record that
# cannot be read is masked whole, columns and members that the contract does not declare are left out.


@dataclass(slots=True)
class _Declared:
    """A field of the contract with what is declared below it."""

    is_hidden: bool = False
    """Whether it is classified, and not as public."""
    below: dict[str, _Declared] = field(default_factory=dict)
    """By step."""

    @property
    def hides(self) -> bool:
        """Whether it, or a field below it, is hidden."""
        return self.is_hidden or any(each.hides for each in self.below.values())


def _declared(plan: Plan) -> _Declared | None:
    """The fields of a plan, with which records are masked; None: no field is hidden."""
    root = _Declared()
    for each in plan.fields:
        here = root
        for step in each.place:
            here = here.below.setdefault(step, _Declared())
        here.is_hidden = each.classification is not None and not each.public
    return root if root.hides else None


def _records(plan: Plan, source: Source, found: pa.Table, is_judged: NDArray[np.bool_]) -> Iterator[str]:
    declared = _declared(plan)
    if isinstance(source, CsvSource):
        values = _of_csv(plan, source, found, is_judged)
    elif isinstance(source, JsonSource):
        values = map(_of_json, found.column(LINE).to_pylist())
    else:
        values = _of_table(source, found)
    for value in values:
        if declared is None:
            yield _written(value)
        elif isinstance(value, dict):
            yield _written(_masked(value, declared))
        else:
            yield _written(_mask(value))


def _of_csv(plan: Plan, source: CsvSource, found: pa.Table, is_judged: NDArray[np.bool_]) -> Iterator[Any]:
    names = [(steps_of(each) or (f".{each}",))[0][1:] for each in source.columns.found]
    lines: list[bytes] = found.column(LINE).to_pylist()
    block = b"".join(line + b"\n" for line, judged in zip(lines, is_judged, strict=True) if judged)
    parsed = parse(block, Dialect.of(plan.csv), len(names), list(range(len(names)))).table if block else pa.table({})
    cells = iter(zip(*(each.to_pylist() for each in parsed.columns), strict=True))
    for line, judged in zip(lines, is_judged, strict=True):
        yield dict(zip(names, next(cells), strict=True)) if judged else _text(line, plan.csv.encoding)


def _of_json(line: bytes) -> Any:  # noqa: ANN401 - any value of JSON
    try:
        return parse_object(line)
    except MalformedError:
        return _text(line, "utf-8")


def _text(line: bytes, encoding: str) -> str:
    return line.decode(encoding, errors="replace")


def _of_table(source: Source, found: pa.Table) -> Iterator[Any]:
    columns = [map_moments(each.combine_chunks(), _moment_texts).to_pylist() for each in found.columns[1:]]
    for row in zip(*columns, strict=True):
        yield {
            name: _plain(value, kind)
            for name, value, kind in zip(source.kinds, row, (each.type for each in found.columns[1:]), strict=True)
        }


def _moment_texts(array: pa.Array) -> pa.Array:
    """Days, times and moments as texts, also those that Python does not have; moments with a zone in UTC."""
    kind = array.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return pc.replace_substring(pc.cast(array, pa.string()), " ", "T")
    texts = pc.cast(array.view(pa.timestamp(kind.unit)), pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(texts, " ", "T"), "Z", "")


def _plain(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - any value of Arrow
    """A value of a table as one of JSON: of bytes their digits, of a map an object."""
    match value:
        case list() if pa.types.is_map(kind):
            return {_key(_plain(key, kind.key_type)): _plain(each, kind.item_type) for key, each in value}
        case list():
            return [_plain(each, kind.value_type) for each in value]
        case dict():
            return {each.name: _plain(value[each.name], each.type) for each in kind}
        case _:
            return _leaf(value)


def _leaf(value: object) -> object:
    match value:
        case bytes():
            return value.hex()
        case Decimal():
            return NumberText(f"{value:f}")
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def _key(value: object) -> str:
    return value if isinstance(value, str) else _written(value)


def _masked(value: Any, declared: _Declared) -> Any:  # noqa: ANN401 - any value of JSON
    """A value without what is hidden of it, and without what is not declared."""
    below = declared.below
    if declared.is_hidden:
        return _mask(value)
    if isinstance(value, dict) and (entries := below.get(OF_MAPS[1])) is not None:
        keys = below.get(OF_MAPS[0], _Declared())
        return {str(_masked(key, keys)): _masked(each, entries) for key, each in value.items()}
    if isinstance(value, dict) and below:
        return {key: _masked(each, below[f".{key}"]) for key, each in value.items() if f".{key}" in below}
    if isinstance(value, list) and "[]" in below:
        return [_masked(each, below["[]"]) for each in value]
    return _mask(value) if isinstance(value, dict | list) or declared.hides else value


def _mask(value: Any) -> str | None:  # noqa: ANN401 - any value of JSON
    if value is None:
        return None
    return mask(value if isinstance(value, str) else _written(value))


def _written(value: object) -> str:
    """A value as JSON, numbers of a text as they were written."""
    match value:
        case NumberText():
            return value
        case Mapping():
            return f"{{{_joined(f'{_written(str(key))}: {_written(each)}' for key, each in value.items())}}}"
        case list() | tuple():
            return f"[{_joined(map(_written, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts)

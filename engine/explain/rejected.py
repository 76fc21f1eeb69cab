"""Which records are rejected with `onReject: rows`: those that break a failed check that single rows answer for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contracts.check import Metric
from contracts.population import keys_of
from engine.measure.tables import POSITION_BITS, groups, key_columns, table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    from numpy.typing import NDArray

    from contracts.check import Check
    from contracts.population import Keys
    from engine.evaluate.program import Program
    from engine.measure.partial import Bit, Partial
    from engine.read.chunk import Level


def count_rejected(
    blamed: tuple[Check, ...], programs: Mapping[Level, Program], partials: list[Partial], connection: duckdb.DuckDBPyConnection
) -> int:
    """Judged records that break one of the checks."""
    bits: list[Bit] = []
    sharing: list[NDArray[np.int64]] = []
    for check in blamed:
        own = next(each for each in programs.values() if check in each.checks)
        if check.metric is Metric.DUPLICATE_ROWS:
            keys = keys_of(check)
            assert keys is not None
            sharing.append(ids_of_shared_keys(own, keys, connection))
        else:
            predicate = (check.tolerate or check.accept).predicate
            assert predicate is not None
            bits.append((own.level, own.predicates[predicate]))
    ids = np.unique(np.concatenate(sharing)) if sharing else np.empty(0, np.int64)
    return sum(_rejected(partial, bits, ids) for partial in partials)


def ids_of_shared_keys(program: Program, keys: Keys, connection: duckdb.DuckDBPyConnection) -> NDArray[np.int64]:
    """The ids of the records that share their key with another."""
    names = [f"k{at}" for at in range(len(keys.fields))]
    rows = f"SELECT id, {', '.join(key_columns(program, keys))} FROM {table_name(program)} WHERE {program.populations[keys.population]}"  # noqa: S608 - generated names
    same = " AND ".join(f"rows.{name} IS NOT DISTINCT FROM shared.{name}" for name in names)
    query = f"SELECT id FROM ({rows}) rows SEMI JOIN (FROM ({groups(program, keys)}) WHERE n > 1) shared ON {same}"  # noqa: S608 - likewise
    found: NDArray[np.int64] = connection.execute(query).fetchnumpy()["id"]
    return found


def _rejected(partial: Partial, bits: list[Bit], ids: NDArray[np.int64]) -> int:
    low, high = np.searchsorted(ids, [partial.number << POSITION_BITS, (partial.number + 1) << POSITION_BITS])
    lines = ids[low:high] - (partial.number << POSITION_BITS)
    count = 0
    for broken in partial.broken:
        rejected = np.isin(broken.rows, lines) if len(lines) else np.zeros(len(broken.rows), np.bool_)
        for bit in bits:
            if bit in broken.bitmaps:
                rejected |= broken.bitmaps[bit].to_numpy(zero_copy_only=False)
        count += int(rejected.sum())
    return count

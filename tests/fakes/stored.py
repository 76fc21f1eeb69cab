"""What is stored, as its subjects read it: for tests that look at rows, or write them as nobody else would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TypeVar

from lakegate.gate.ledger.blocks import AnyBlock
from lakegate.gate.ledger.ledger_store import block_of
from lakegate.gate.table import Row, RowKey, TableName, workloads_key
from tests.fakes.table import MemoryTable

T = TypeVar("T")


class Stored(MutableMapping[str, T]):
    """The rows of one kind in the table of workloads, by their names."""

    def __init__(
        self, table: MemoryTable, kind: str, of: Callable[[Row], T], to: Callable[[T], Row] | None = None
    ) -> None:
        self._table, self._kind, self._of, self._to = table, kind, of, to
        self._rows = table.rows[TableName.WORKLOADS, kind]
        self._known: dict[str, tuple[Row, T]] = {}

    def __getitem__(self, name: str) -> T:
        """As it is read; the same row is read once."""
        row = self._rows[name]
        known = self._known.get(name)
        if known is None or known[0] is not row:
            known = self._known[name] = (row, self._of(row))
        return known[1]

    def __setitem__(self, name: str, value: T) -> None:
        """Without a condition."""
        assert self._to is not None
        row = self._to(value)
        assert row.key.identity == name
        self._table.put(row)

    def __delitem__(self, name: str) -> None:
        """Without a trace."""
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        """In the order in which they were first written."""
        return iter(self._rows)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        """Whether there is one."""
        return name in self._rows

    def key(self, name: str) -> RowKey:
        """Of a row."""
        return workloads_key(self._kind, name)


class StoredChains(Mapping[str, "list[AnyBlock]"]):
    """The blocks and records of each chain, by height."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table
        self._known: dict[str, tuple[int, list[AnyBlock]]] = {}

    def __getitem__(self, chain: str) -> list[AnyBlock]:
        """As they are read; a chain that nobody has written since is read once."""
        written = len(self._table.changes[TableName.LEDGER, chain])
        known = self._known.get(chain)
        if known is None or known[0] != written:
            known = self._known[chain] = (written, list(map(block_of, self._table.heights(chain))))
        if not known[1]:
            raise KeyError(chain)
        return known[1]

    def __iter__(self) -> Iterator[str]:
        """Chains with a block."""
        return (name for table, name in list(self._table.rows) if table == TableName.LEDGER and self._is_chain(name))

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)

    def _is_chain(self, name: str) -> bool:
        return name not in {"event", "workload"} and "#" not in name and bool(self._table.rows[TableName.LEDGER, name])

"""The ledger's table in memory: the commit is one transaction over three tables, with reasons and a token."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lakegate.contracts.lake.block import GENESIS, canonical, digest
from lakegate.functions.ports.errors import ConditionFailed, IdempotencyMismatch
from lakegate.functions.ports.ledger import Head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from lakegate.contracts.lake.block import Block
    from lakegate.functions.ports.workloads import Expected
    from lakegate.functions.workload import Message, Workload
    from tests.fakes.rows import MemoryRows

TOKEN_LIFE = timedelta(minutes=10)
EMPTY = Head(-1, GENESIS)


class MemoryLedger:
    """Chains of blocks beside the rows of workloads."""

    def __init__(self, rows: MemoryRows) -> None:
        self._rows = rows
        self.chains: dict[str, list[Block]] = {}
        self._heads: dict[str, Head] = {}
        self._tokens: dict[str, tuple[datetime, tuple[object, ...]]] = {}

    def head(self, chain: str) -> Head:
        """The top."""
        return self._heads.get(chain, EMPTY)

    def blocks(self, chain: str, above: int = -1) -> tuple[Block, ...]:
        """What lies above a height."""
        return tuple(self.chains.get(chain, ())[above + 1 :])

    def texts(self, chain: str) -> Iterator[bytes]:
        """The canonical forms."""
        return map(canonical, tuple(self.chains.get(chain, ())))

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """Row, block, head and message, all or nothing; the same token within ten minutes is the same transaction."""
        self._rows.faults.pass_or_refuse()
        token = digest(block)
        if self._committed_before(token, (block, workload, expected, message)):
            return
        row = self._rows.rows.get(workload.id)
        decided = row is not None and row.decision == workload.decision
        state = "" if decided and self._rows.matches(workload.id, expected) else "state"
        head = "" if self.head(block.chain) == Head(block.height - 1, block.previous) else "head"
        if state or head:
            raise ConditionFailed(state, head)
        self._rows.write(workload)
        self._rows.post(message)
        self.chains.setdefault(block.chain, []).append(block)
        self._heads[block.chain] = Head(block.height, token)
        self._tokens[token] = (self._rows.clock.now(), (block, workload, expected, message))

    def _committed_before(self, token: str, content: tuple[object, ...]) -> bool:
        before = self._tokens.get(token)
        if before is None or self._rows.clock.now() - before[0] > TOKEN_LIFE:
            return False
        if before[1] != content:
            raise IdempotencyMismatch
        return True

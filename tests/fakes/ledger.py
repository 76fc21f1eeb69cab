"""The ledger's table in memory: the commit is one transaction over three tables, with reasons and a token."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from lakegate.errors import ConditionFailed, IdempotencyMismatch
from lakegate.gate.datasets.delivery_history import entry_of
from lakegate.gate.ledger.blocks import GENESIS, Head, canonical, digest
from lakegate.gate.ledger.signatures import KEY, Signature, SignedText, fingerprint, signed_text
from lakegate.gate.ports import UNSIGNED
from lakegate.gate.table import CommittedBlock
from tests.fakes.rows import may_mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from lakegate.features.odf.slice_turns import NextSlice
    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.ledger.blocks import AnyBlock, Block, Record
    from lakegate.gate.ports import Message, SigningKey, SigningKeys
    from lakegate.gate.table import Expected, HistoryEntry
    from lakegate.plan.slice_order import StateRun
    from tests.fakes.rows import MemoryRows

TOKEN_LIFE = timedelta(minutes=10)
EMPTY = Head(-1, GENESIS)


class MemoryLedger:
    """Chains of blocks beside the rows of workloads."""

    def __init__(self, rows: MemoryRows, signing: SigningKeys = UNSIGNED) -> None:
        self._rows = rows
        self.signing = signing
        self.chains: dict[str, list[AnyBlock]] = {}
        self._texts: dict[int, tuple[AnyBlock, bytes]] = {}
        self.signatures: dict[tuple[str, int], Signature] = {}
        self._heads: dict[str, Head] = {}
        self._keys: dict[str, str] = {}
        self.committed_blocks: dict[str, CommittedBlock] = {}
        """Of each delivery, whatever its row says."""
        self.events: set[str] = set()
        self._entries: dict[str, list[HistoryEntry]] = {}
        self._tokens: dict[str, tuple[datetime, tuple[object, ...]]] = {}

    def head(self, chain: str) -> Head:
        """The top."""
        return self._heads.get(chain, EMPTY)

    def heads(self, chains: Sequence[str]) -> tuple[Head, ...]:
        """The tops."""
        return tuple(map(self.head, chains))

    def digests(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """Of what is stored."""
        chains = ((self.chains.get(chain, []), height) for chain, height in places)
        return tuple(digest(blocks[height]) if height < len(blocks) else "" for blocks, height in chains)

    def blocks(self, chain: str, above: int = -1, *, strict: bool = True) -> tuple[AnyBlock, ...]:
        """What lies above a height; all of it can be read."""
        del strict
        return tuple(self.chains.get(chain, ())[above + 1 :])

    def texts(self, chain: str) -> Iterator[bytes]:
        """The canonical forms."""
        return map(self._text, tuple(self.chains.get(chain, ())))

    def signed(self, chain: str) -> Iterator[SignedText]:
        """With their signatures."""
        return (SignedText(text, self.signatures.get((chain, at))) for at, text in enumerate(self.texts(chain)))

    def key(self, chain: str) -> str:
        """The one that was named last."""
        return self._keys.get(chain, "")

    def committed(self, workload: str) -> CommittedBlock | None:
        """What the commit wrote."""
        return self.committed_blocks.get(workload)

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """Row, block, head and message, all or nothing; the same token within ten minutes is the same transaction."""
        self._rows.faults.pass_or_refuse()
        token = self._digest(block)
        if self._committed_before(token, (block, workload, expected, message)):
            return
        row = self._rows.rows.get(workload.id)
        decided = row is not None and row.decision == workload.decision
        state = "" if decided and self._rows.matches(workload.id, expected) else "state"
        head = self._head_reason(block)
        repeated = ["repeated"] if workload.id in self.committed_blocks else []
        if state or head or repeated:
            raise ConditionFailed(state, head, *repeated)
        signature = self._signature(block, self.signing.current)
        self._rows.end_turn(workload)
        self._rows.write(workload)
        self._rows.post(message)
        self._extend(block, signature)
        self.committed_blocks[workload.id] = CommittedBlock(block.chain, block.height)
        self._entries.setdefault(block.chain, []).append(entry_of(block, workload))
        self._tokens[token] = (self._rows.clock.now(), (block, workload, expected, message))

    def append(self, record: Record) -> None:
        """Record and head, all or nothing."""
        self._rows.faults.pass_or_refuse()
        reasons = self.reasons(record)
        if any(reasons):
            raise ConditionFailed(*reasons)
        self.write(record)

    def reasons(self, record: Record) -> tuple[str, str]:
        """Why a record cannot be appended: for the transactions of other tables."""
        return self._head_reason(record), "event" if record.event in self.events else ""

    def write(self, record: Record) -> None:
        """Append a record whose conditions hold."""
        signature = None
        if record.kind == KEY:
            signature = self._signature(
                record, self.signing.replaced if record.content["replaces"] else self.signing.current
            )
            self._keys[record.chain] = record.content["key"]
        self._extend(record, signature)
        self.events.add(record.event)

    def _head_reason(self, block: AnyBlock) -> str:
        return "" if self.head(block.chain) == Head(block.height - 1, block.previous) else "head"

    def _text(self, block: AnyBlock) -> bytes:
        """Its canonical form, made once, as the table stores it; blocks are immutable, and one that lives keeps its id."""
        if id(block) not in self._texts:
            self._texts[id(block)] = (block, canonical(block))
        return self._texts[id(block)][1]

    def _digest(self, block: AnyBlock) -> str:
        return hashlib.sha3_256(self._text(block)).hexdigest()

    def _signature(self, block: AnyBlock, signer: SigningKey | None) -> Signature | None:
        if signer is None:
            return None
        return Signature(fingerprint(signer.public_key()), signer.sign(signed_text(self._digest(block))))

    def _extend(self, block: AnyBlock, signature: Signature | None) -> None:
        if signature is not None:
            self.signatures[block.chain, block.height] = signature
        self.chains.setdefault(block.chain, []).append(block)
        self._heads[block.chain] = Head(block.height, self._digest(block))

    def entries(
        self, chain: str, *, rule: str = "", verdict: str = "", below: int | None = None, limit: int = 100
    ) -> tuple[HistoryEntry, ...]:
        """The newest first."""
        found = [
            each
            for each in reversed(self._entries.get(chain, ()))
            if (below is None or each.height < below)
            and (not rule or any(one.rule == rule for one in each.rules))
            and (rule or verdict in {"", each.verdict})
        ]
        return tuple(found[:limit])

    def _committed_before(self, token: str, content: tuple[object, ...]) -> bool:
        before = self._tokens.get(token)
        if before is None or self._rows.clock.now() - before[0] > TOKEN_LIFE:
            return False
        if before[1] != content:
            raise IdempotencyMismatch
        return True


@dataclass(frozen=True, slots=True)
class MemoryTurns:
    """Turns of lines with slices, beside the rows."""

    rows: MemoryRows
    ledger: MemoryLedger

    def next_slice(self, line: str) -> NextSlice:
        """Of the turn."""
        return self.rows.next_slice(line)

    def end_turn(self, workload: Workload) -> None:
        """Let the next one in."""
        self.rows.end_turn(workload)

    def replace_state(self, line: str, before: NextSlice, runs: tuple[StateRun, ...]) -> None:
        """An update of the turn."""
        self.rows.replace_state(line, before, runs)

    def mark(self, record: Record, before: NextSlice) -> None:
        """Record, head and the watermark of the turn, all or nothing."""
        self.rows.faults.pass_or_refuse()
        turn = self.rows.turns.get(record.chain)
        is_same = turn is not None and may_mark(turn, before)
        reasons = (*self.ledger.reasons(record), *([] if is_same else ["turn"]))
        if any(reasons):
            raise ConditionFailed(*reasons)
        assert turn is not None
        self.rows.turns[record.chain] = turn._replace(watermark=record.content["watermark"])
        self.ledger.write(record)

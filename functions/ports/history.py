"""The finished deliveries of a line, by height, verdict and broken rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from lakegate.contracts.door.refusals import code_of, is_code
from lakegate.contracts.judge.counts import LONGEST_RULE, MAX_RULES, BrokenRule

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import Block
    from lakegate.functions.workload import Decision, Enforced, Workload


class HistoryEntry(NamedTuple):
    """One finished delivery, as the index describes it."""

    height: int
    at: str
    """RFC 3339, UTC: when its block was written."""
    workload: str
    kind: str
    """Of its block: `published`, `quarantined`."""
    verdict: str
    version: str
    """Of the contract; empty where no route covers the key."""
    rows: int | None = None
    """None where nothing was measured."""
    rejected_rows: int | None = None
    """Rows that were kept out of the accepted data."""
    rules: tuple[BrokenRule, ...] = ()
    """Those that failed or warned, the worst first."""
    enforced: Enforced | None = None
    """What `mode: enforce` would have decided; None where it was the mode."""
    producer: str = ""
    """The folder of the landing bucket: text of the producer's. Empty for a block of an earlier release."""
    indexed: bool = True
    """False for a block of an earlier release: it is found by height alone, and its rules are not known."""


class History(Protocol):
    """The finished deliveries of each line, written in the transaction that commits them."""

    def entries(
        self, chain: str, *, rule: str = "", verdict: str = "", below: int | None = None, limit: int = 100
    ) -> tuple[HistoryEntry, ...]:
        """At most `limit` deliveries of a line below a height, the newest first; strongly consistent.

        With a rule or a verdict only those that break it, or have it: a query of its own key, not a filter. At most one of both.
        """
        ...


def entry_of(block: Block, workload: Workload) -> HistoryEntry:
    """The entry of a delivery that is committed with this block."""
    decision = workload.decision
    assert decision is not None
    counts = decision.counts
    landed = workload.landed or workload.source
    return HistoryEntry(
        block.height,
        block.system_time,
        block.workload,
        block.kind.value,
        block.verdict,
        block.contract_version,
        block.rows,
        counts.rejected_rows if counts else block.rejected_rows,
        broken_rules(decision),
        decision.enforced,
        landed.key.rpartition("/")[0] + "/",
    )


def broken_rules(decision: Decision) -> tuple[BrokenRule, ...]:
    """The broken rules, and the codes of refusals that are no rule of the contract, such as `duplicate-content`."""
    codes = [each for each in decision.reasons if is_code(each)]
    unlisted = codes if decision.broken else map(code_of, decision.reasons)  # an earlier release decided
    refused = (BrokenRule(code[:LONGEST_RULE], "fail") for code in dict.fromkeys(unlisted))
    return (*decision.broken, *refused)[:MAX_RULES]


def entry_of_block(block: Block) -> HistoryEntry:
    """The entry of a block that an earlier release committed."""
    return HistoryEntry(
        block.height,
        block.system_time,
        block.workload,
        block.kind.value,
        block.verdict,
        block.contract_version,
        block.rows,
        block.rejected_rows,
        indexed=False,
    )

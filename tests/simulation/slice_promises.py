"""The promises of a line that publishes slices.

P25: a delivery is decided, and judged again, by what its line is at that time. P26: the rows of the line are what the order of
its deliveries makes of them, without gaps, and its merge state has their keys.
"""

from __future__ import annotations

from datetime import datetime

from lakegate.features.odf.slice_turns import decided_slices
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Block
from lakegate.plan.slice_order import StateRun
from tests.simulation.contract import ACCEPTED, read_json
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.sliced_job import DELAY, time_of


def published(env: Environment) -> bytes:
    """The rows of all slices in the order of the chain."""
    found = (each for block in env.memory.chains.get(LINE, ()) for each in getattr(block, "slices", None) or ())
    return b"".join(rows_in(env, each.key) for each in found)


def rows_in(env: Environment, key: str) -> bytes:
    """The rows of a slice, behind its offset."""
    return env.lake[key][-1].body.partition(b":")[2]


class SlicePromises:
    """What a line was after its last decision, computed from what was delivered."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.following, self.watermark, self.writer, self.system_time = 0, "", "", ""
        self.runs: tuple[StateRun, ...] = ()
        self.rows = b""
        """Of all slices, in their order."""
        self.replaced = 0

    def look(self) -> None:
        """Note what a person has replaced."""
        replaced = self.env.replaced
        if len(replaced) != self.replaced:
            self.state_replaced(replaced[-1])

    def state_replaced(self, runs: tuple[StateRun, ...]) -> None:
        """A person has replaced the merge state."""
        self.replaced += 1
        self.runs = runs

    def decided(self, row: Workload) -> str:
        """What is broken by a decision; empty: nothing."""
        decided = decided_slices(row)
        if row.state is not State.DECIDED or decided is None:
            return ""
        if self.writer:
            return "a delivery was decided while another one of its line was not committed"
        if (decided.offsets[0], decided.watermarks[0], decided.before) != (
            self.following,
            self.watermark,
            self.runs,
        ):
            return "a delivery was decided that was judged by another offset, watermark or state"
        if decided.watermarks[1] != self._mark_after(row, decided.offsets):
            return "a decision moves the watermark wrongly"
        has_rows = decided.offsets[1] > decided.offsets[0]
        if bool(decided.system_time) != has_rows or (has_rows and decided.system_time <= self.system_time):
            return "the system time of rows is not after that of the rows before"
        self.system_time = decided.system_time or self.system_time
        self.following, self.watermark, self.writer = decided.offsets[1], decided.watermarks[1], row.id
        self.runs = decided.runs or self.runs
        return ""

    def _mark_after(self, row: Workload, offsets: tuple[int, int]) -> str:
        first, end = offsets
        moved = _earlier(time_of(self._body(row))) if end > first else ""
        return max(self.watermark, moved)

    def _body(self, row: Workload) -> bytes:
        return self.env.by_version[(row.landed or row.source).version].body

    def is_overtaken(self, key: str) -> bool:
        """Whether a result no longer fits its line, or another delivery may have been decided meanwhile."""
        document = read_json(self.env.lake[key][-1].body)
        merge = document["merge"]
        offset = merge["offset"] if merge else document["slices"][0]["offset"]
        state = tuple(each["uri"].removeprefix(f"s3://{LAKE}/") for each in merge["before"]) if merge else ()
        now = self.following, self.watermark, tuple(each.uri for each in self.runs)
        return (offset, document["watermark"], state) != now

    def verdict(self, row: Workload, expected: str) -> str:
        """With a warning, if the delivery has late rows."""
        decided = decided_slices(row)
        if decided is None or expected not in ACCEPTED:
            return expected
        has_rows = decided.offsets[1] > decided.offsets[0]
        is_late = has_rows and time_of(self._body(row)) < decided.watermarks[0]
        return "accepted_with_warnings" if is_late else expected

    def committed(self, block: Block, row: Workload) -> str:  # noqa: PLR0911 - one for each promise
        """What is broken by the block of a delivery of slices; empty: nothing."""
        decided = decided_slices(row)
        if block.slices is None or decided is None:
            return ""
        if self.writer != row.id:
            return "a delivery was committed that has no turn"
        self.writer = ""
        body = self._body(row)
        accepted = body[:-1] if body.startswith(b"split") else body
        assert row.pin is not None
        is_merged = bool(read_json(self.env.lake[f"plans/{row.pin.plan}.json"][-1].body)["policy"]["merge_key"])
        new = bytes(dict.fromkeys(each for each in accepted if each not in self.rows)) if is_merged else accepted
        if [(each.offset, each.rows) for each in block.slices] != ([(len(self.rows), len(new))] if new else []):
            return "the offsets of the line have a gap, or rows are missing"
        stored = [self.env.lake[each.key][-1].body for each in block.slices]
        if stored != ([f"{len(self.rows)}:".encode() + new] if new else []):
            return "the rows of a slice are not what the order of the deliveries makes of them"
        is_newer = decided.system_time > block.system_time
        if is_newer or any(each.system_time != decided.system_time for each in block.slices):
            return "a block has another system time than its decision, or rows that are newer than itself"
        if block.watermark != ((decided.watermarks[1] or None) if new else None):
            return "a block has another watermark than its decision"
        self.rows += new
        return self.state_fault() if is_merged else ""

    def state_fault(self) -> str:
        """What is wrong with the merge state of the line, if it has one."""
        if any(each.uri not in self.env.lake for each in self.runs):
            return "a file of the merge state is not there"
        found = b"".join(self.env.lake[each.uri][-1].body for each in self.runs)
        if self.runs and sorted(found) != sorted(self.rows):
            return "the merge state is not that of the slices"
        return ""

    def marked(self, before: str, after: str) -> str:
        """What is broken by a watermark that a person has set; empty: nothing."""
        if self.writer or before != self.watermark or after <= before:
            return "a watermark was set beside a decision, or moved back"
        self.watermark = after
        return ""

    def finished(self) -> str:
        """What is broken when all deliveries have ended; empty: nothing."""
        turn = self.env.memory.turns.next_slice(LINE)
        if turn != (self.following, self.watermark, self.runs, "", self.system_time):
            return "the turn of the line is not free, or not that of its last delivery"
        if len(self.rows) != self.following or published(self.env) != self.rows:
            return "the rows of the line are not those of its deliveries"
        return self.state_fault()


def _earlier(moment: str) -> str:
    return (datetime.fromisoformat(moment) - DELAY).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

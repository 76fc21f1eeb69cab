"""Branches of tables whose snapshots are deliveries: what is known of a table, what was judged, and what may become main."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, Protocol

from lakegate.base.json_codec import Exact, NotEmpty, Pattern, Sha256, omit_default
from lakegate.contract.delivery_policy import ADDED, PulledRows

SOURCE: Final = re.compile(r"iceberg://([^/?]+)/([^/?]+)\?(?:branch=([^/?&]+)|wap=\*)", re.ASCII)
"""`iceberg://DATABASE/TABLE?branch=NAME`, or `?wap=*` for staged snapshots; a contract has stricter names."""
MOST_STAGED: Final = 5
"""Staged snapshots that are based on main, the newest ones: a writer may stage any number."""


class GatedBranch(NamedTuple):
    """A branch of a table, whose snapshots are deliveries."""

    database: str
    table: str
    branch: str
    """Empty: what is staged for main (`wap.id`), which no branch has."""


def branch_of(source: str) -> GatedBranch:
    """The branch of a source of a contract."""
    found = SOURCE.fullmatch(source)
    assert found is not None  # the contract was read with a stricter pattern
    return GatedBranch(*found.groups(""))


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as its catalog has it."""

    uuid: str
    main: int | None
    """The id of its current snapshot; None: it has none."""
    heads: tuple[int, ...]
    """The newest snapshot of the branch; none: there is no such branch. Of what is staged each, as `staged` has them."""
    parents: Mapping[int, int | None]
    """The snapshots that are there, each with the one that it is based on."""
    past: frozenset[int]
    """Snapshots that are or have been the current one, as far as the table remembers."""

    def line(self, snapshot: int | None) -> Iterator[int]:
        """A snapshot and those that it is based on, the newest first; the last one may have expired."""
        known = set[int]()
        while snapshot is not None and snapshot not in known:
            known.add(snapshot)
            yield snapshot
            snapshot = self.parents.get(snapshot)


def staged(state: TableState, known: Container[int], found: Iterable[int]) -> tuple[int, ...]:
    """Of the snapshots that writers have staged those that are based on main, and the newest one if it is newer than main.

    `found`: these and main, the oldest first. `known`: those that a branch or tag has.
    """
    free = [each for each in found if each == state.main or not (each in known or each in state.past)]
    wanted = [each for each in free if state.parents[each] == state.main or each == free[-1] != state.main]
    return tuple(wanted[-MOST_STAGED:])


class SnapshotFiles(NamedTuple):
    """The files of a snapshot: data, deletes and metadata."""

    digest: str
    """SHA-256 of the address, size and ETag of each."""
    number: int
    size: int
    """Bytes of data and deletes."""
    added: frozenset[str] | None = None
    """The data files whose rows are judged; None: all."""


SnapshotId = Annotated[str, Pattern("[0-9]{1,19}")]
"""Beyond the integers that JSON has exactly."""


@dataclass(frozen=True, slots=True)
class SnapshotPins:
    """What was judged: the footer of the judged file states it, so that the object of the delivery's block pins it."""

    source: NotEmpty
    """As the contract names the branch."""
    uuid: NotEmpty
    """Of the table."""
    snapshot: SnapshotId
    main: SnapshotId | None
    """The current snapshot when it was copied; null: there was none."""
    files: Sha256
    """See `SnapshotFiles.digest`."""
    number: Exact
    """Of these files."""
    rows: PulledRows = omit_default("")
    """The rows that were copied: all, or those that `main` did not have."""

    @property
    def since(self) -> int | None:
        """The snapshot whose rows are not judged; None: all are."""
        return None if self.main is None or self.rows != ADDED else int(self.main)

    @property
    def version(self) -> str:
        """The name of the delivery among those of the branch."""
        return version_of(self.uuid, int(self.snapshot))


PINS: Final = "lakegate.snapshot"
"""The name of the pins in the footer of the judged file."""


def version_of(uuid: str, snapshot: int) -> str:
    """The name of a snapshot as a delivery: of the table with this UUID, whatever it is called."""
    return f"{uuid}/{snapshot}"


class GatedTables(Protocol):
    """Tables of a catalog, which others write."""

    def state(self, branch: GatedBranch) -> TableState | None:
        """The table of a branch; None: there is no such table. Raises PortError with a code where it is refused."""
        ...

    def files(self, branch: GatedBranch, snapshot: int, since: int | None = None) -> SnapshotFiles | None:
        """The files of a snapshot as they are now; None: some are not there. Raises PortError with a code.

        `since`: another snapshot, whose rows are not judged: of the files those that were added to it, and the metadata of both.
        It raises PortError where the snapshot does not have all rows of that one as they are.
        """
        ...

    def set_main(self, branch: GatedBranch, state: TableState, snapshot: int) -> None:
        """Make a snapshot the current one, if UUID and current snapshot are those of the state, and the snapshot is there.

        All of it or nothing. Raises ConditionFailed, and PortError with a code.
        """
        ...


# ---- What may become main ----
# What is judged is a whole table, or what the current snapshot lacks of one. So the result of a publication is what was judged if
# and only if the current snapshot becomes this one. It may replace nothing but the snapshots that it is based on: a fast-forward,
# from the one that was current when the copy was made, or from a later one on the same way, whose rows were judged with it.


class SnapshotStep(StrEnum):
    """What is to be done about an accepted snapshot, or the code of the reason why it does not become main."""

    SET = "set"
    DONE = "done"
    TABLE_MISSING = "table-missing"
    TABLE_REPLACED = "table-replaced"
    SNAPSHOT_EXPIRED = "snapshot-expired"
    MAIN_MOVED = "main-moved"
    FILES_CHANGED = "files-changed"
    ROWS_CHANGED = "rows-changed"
    NOT_CURRENT = "not-current"
    SOURCE_REFUSED = "source-refused"


def next_step(state: TableState | None, uuid: str, snapshot: int, before: int | None) -> SnapshotStep:
    """The step for a snapshot of the table with this UUID. `before`: the current one when it was copied."""
    if state is None:
        return SnapshotStep.TABLE_MISSING
    if state.uuid != uuid:
        return SnapshotStep.TABLE_REPLACED
    if snapshot in state.past or snapshot in state.line(state.main):
        return SnapshotStep.DONE
    if snapshot not in state.parents:
        return SnapshotStep.SNAPSHOT_EXPIRED
    way = list(state.line(snapshot))
    since = way if before is None else way[: way.index(before) + 1] if before in way else []
    allowed: set[int | None] = {*since, *([None] if before is None else [])}
    return SnapshotStep.SET if state.main in allowed else SnapshotStep.MAIN_MOVED

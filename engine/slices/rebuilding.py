"""The merge state of a line computed again from its slices, by way of files: only the rows of one delivery are in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.plan.slices import StateRun
from lakegate.engine.read.local import LocalStore, path_of
from lakegate.engine.slices.merging import Identified
from lakegate.engine.slices.replay import rows_of
from lakegate.engine.slices.state import StateRecords, StoredRun, kept, write_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


@dataclass(slots=True)
class StateOfSlices:
    """Keys and contents of the slices so far, in sorted files of a folder, the oldest first."""

    folder: Path
    runs: tuple[StateRun, ...] = ()
    count: int = 0
    """Files that were written."""

    def add(self, files: Iterable[Path], key: tuple[str, ...]) -> None:
        """Those of further slices; of a key that is there, the first row counts. InputError where a file is none."""
        found = Identified.of(rows_of(files), key)
        records = found.records(found.has_key)
        left = len(kept(self.runs, len(records.records)))
        self._replace(left, records)

    def whole(self) -> StateRun:
        """One file with all of them."""
        self._replace(0, StateRecords.none())
        return self.runs[0]

    def _replace(self, left: int, records: StateRecords) -> None:
        """Take up the files from a place on."""
        self.count += 1
        path, taken_up = self.folder / f"state-{self.count}.bin", self.runs[left:]
        rows, digest = write_run(records, _stored(taken_up), path)
        for each in taken_up:
            path_of(each.uri).unlink()
        self.runs = (*self.runs[:left], StateRun(path.as_uri(), rows, digest))


def _stored(runs: Sequence[StateRun]) -> list[StoredRun]:
    return [StoredRun(LocalStore(), each) for each in runs]

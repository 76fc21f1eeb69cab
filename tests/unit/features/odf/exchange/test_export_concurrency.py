"""Two exports or imports into one place at once, and what lies there under the name of an object but is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf.exchange.odf_export import export_dataset
from lakegate.features.odf.exchange.odf_import import Proof, bring_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace, OdfPlace, place_of
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.odf.exchange.shared_dataset import LINE, Lake, bring, files_of


class Interrupted:
    """A folder that does something else before one of its objects is read."""

    def __init__(self, folder: Path, before: str, other: object) -> None:
        self.place, self.before, self.other = FolderPlace(folder), before, other
        self.reasons: list[str] = []

    def pieces(self, name: str) -> Iterator[bytes]:
        if name.startswith(self.before) and callable(self.other):
            with pytest.raises(InputError) as found:
                self.other()
            self.reasons.append(str(found.value))
        return self.place.pieces(name)


@pytest.mark.parametrize("moment", ["blocks/", "data/"])
def test_a_second_writer_of_a_folder_is_refused(made: Lake, tmp_path: Path, moment: str) -> None:
    """While an import is on its way, neither another one nor an export writes to its folder; it ends as if alone."""
    shared, copy = tmp_path / "shared", tmp_path / "copy"
    made.export(shared)
    importing = Interrupted(shared, moment, lambda: bring(shared, copy))
    bring_dataset(importing, FolderPlace(copy), Proof(signatures_by(None)))
    again = Interrupted(shared, moment, lambda: made.export(tmp_path / "other"))
    bring_dataset(again, FolderPlace(tmp_path / "other"), Proof(signatures_by(None)))

    assert set(importing.reasons) == {f"{copy} is locked, another import or export writes to it: {REPEAT}"}
    assert set(again.reasons) == {f"{tmp_path / 'other'} is locked, another import or export writes to it: {REPEAT}"}
    assert files_of(copy) == files_of(shared) == files_of(tmp_path / "other")


REPEAT = "repeat the command when that one has ended"


def test_one_of_many_writers_has_the_lock(tmp_path: Path) -> None:
    """However many try at once, and while others remove the file of the lock, no two have it."""
    inside: list[int] = []
    most: list[int] = []

    def write() -> None:
        done = 0
        while done < 50:
            try:
                with FolderPlace(tmp_path).locked():
                    inside.append(1)
                    time.sleep(0.0001)  # others try meanwhile
                    most.append(len(inside))
                    inside.pop()
                    done += 1
            except InputError:
                continue

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert most == [1] * 200
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_ended_is_none(made: Lake, tmp_path: Path) -> None:
    """A file that a killed process left locks nothing, and is removed by the next one."""
    (tmp_path / "shared/refs").mkdir(parents=True)
    (tmp_path / "shared/refs/.lock").touch()
    made.export(tmp_path / "shared")

    assert not (tmp_path / "shared/refs/.lock").exists()


def test_a_folder_that_cannot_be_locked_is_refused(made: Lake, tmp_path: Path) -> None:
    """A link is not followed: its target would be written."""
    (tmp_path / "shared/refs").mkdir(parents=True)
    (tmp_path / "shared/refs/.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"refs/\.lock cannot be locked"):
        made.export(tmp_path / "shared")

    assert not (tmp_path / "elsewhere").exists()


def places(tmp_path: Path) -> Iterator[OdfPlace]:
    yield FolderPlace(tmp_path / "damaged")
    yield place_of(f"s3://{LAKE}/damaged")


def test_an_export_replaces_what_is_not_what_its_name_says(made: Lake, lakegate: Lakegate, tmp_path: Path) -> None:
    """An object of the same name, and of the same size, but with other bytes is written again; others are left alone."""
    whole = made.export(tmp_path / "whole")
    files = files_of(tmp_path / "whole")
    block, data = (max(each for each in files if each.startswith(kind)) for kind in ("blocks", "data"))
    for place in places(tmp_path):
        for name in (block, data):
            place.put(name, bytes(len(files[name])))
        found = export_dataset(made.dependencies, LINE, place)
        written = {name: b"".join(place.pieces(name)) for name in files}
        again = export_dataset(made.dependencies, LINE, place)

        assert written == files
        assert (found.new, found.size) == (whole.new, whole.size)
        assert (again.new, again.size) == (0, 0)
    assert lakegate.dependencies is not None


def test_an_interrupted_export_compares_what_it_finds(made: Lake, lakegate: Lakegate, tmp_path: Path) -> None:
    """Slices that are there as their names say are not written again."""
    made.export(tmp_path / "whole")
    for place in places(tmp_path):
        for name, body in files_of(tmp_path / "whole").items():
            if name.startswith("data/"):
                place.put(name, body)
        found = export_dataset(made.dependencies, LINE, place)

        assert (found.new, found.size) == (17, 0)
    assert lakegate.dependencies is not None

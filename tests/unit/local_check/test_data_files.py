"""Files, folders and patterns name the files of one delivery."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import About, Contract, Dataset, Origin, Server
from lakegate.local_check.data_files import DataFile, by_dataset, files_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What Spark writes: data files beside markers."""
    for name in (
        "out/part-1.csv",
        "out/part-0.csv",
        "out/_SUCCESS",
        "out/.part-0.csv.crc",
        "out/_temporary/x",
        "out/a/b.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path / "out"


def test_a_folder_stands_for_its_data_files(folder: Path) -> None:
    """Markers and hidden files are left out; the order is that of the names."""
    found = [f"{folder}/a/b.csv", f"{folder}/part-0.csv", f"{folder}/part-1.csv"]

    assert files_of([str(folder)]) == [DataFile(each) for each in found]


def test_a_pattern_stands_for_the_files_it_matches(folder: Path) -> None:
    """A quoted pattern works where no shell expands it; other names stand for themselves."""
    assert files_of([f"{folder}/part-*.csv", f"{folder}/nowhere.csv"]) == [
        DataFile(f"{folder}/part-0.csv"),
        DataFile(f"{folder}/part-1.csv"),
        DataFile(f"{folder}/nowhere.csv"),
    ]


@pytest.mark.parametrize("name", ["empty", "*.parquet"])
def test_a_name_that_stands_for_no_file_is_an_error(folder: Path, name: str) -> None:
    """A folder without files and a pattern without a match are refused by name."""
    (folder / "empty").mkdir()

    with pytest.raises(InputError, match=name.replace("*", ".")):
        files_of([f"{folder}/{name}"])


def test_the_path_of_a_server_is_no_work(tmp_path: Path) -> None:
    """Its pattern is a contract's, and the name of the file a producer's; all but a star means itself."""
    server = Server("s", "local", {"path": f"data/{{model}}{'*a' * 20}*.csv"}, Origin("$"))
    both = tuple(Dataset(name, (), (), Origin("$")) for name in ("Orders", "lines"))
    contract = Contract("shop", "1.0.0", "odcs", both, about=About(servers=(server,)))
    names = [f"lines{'a' * 20}[1].CSV", f"orders{'a' * 240}.txt"]
    found = by_dataset(contract, [DataFile(f"{tmp_path}/{names[0]}")])

    assert [(name, len(files)) for name, files in found.items()] == [("lines", 1)]
    with pytest.raises(InputError, match="named after no dataset"):
        by_dataset(contract, [DataFile(f"{tmp_path}/{names[1]}")])

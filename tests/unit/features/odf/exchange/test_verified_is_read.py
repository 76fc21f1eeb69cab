"""What `lakegate dataset verify` finds in order is what `lakegate dataset read` reads, whatever else lies in the folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from tests.unit.features.odf.exchange.shared_dataset import LINE, Lake
from tests.unit.gate.ledger.signing import ONE

Change = Callable[[Path], None]
FORGED = "accepted/shop/visits_v1/ingest_date=2026-11-21/workload=" + "a" * 64 + "/part-00000.parquet"


@pytest.fixture(scope="module")
def ways(made: Lake, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Options of `dataset verify`, from none to all."""
    path = tmp_path_factory.mktemp("key") / "key.pem"
    path.write_bytes(ONE.pem)
    key, name = ["--key", str(path)], ["--is", LINE]
    end = ["--anchor", f"{len(made.stored) - 1}={made.previous}"]
    return {"none": [], "key": key, "key and name": [*key, *name], "all": [*key, *name, *end]}


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["dataset", *words])


def read(folder: Path) -> Any:
    """The rows of a folder; the message where it is not read."""
    found = run("read", str(folder), "--events", "--json")
    return json.loads(found.stdout)["records"] if not found.exit_code else str(found.exception)


def seen(folder: Path, options: list[str]) -> list[str]:
    """What a way to verify says is wrong."""
    found = run("verify", str(folder), *options, "--json")
    if not found.stdout:
        return [str(found.exception)]
    faults: list[str] = json.loads(found.stdout)["faults"]
    assert found.exit_code == bool(faults)
    return faults


def forged_manifest(folder: Path) -> None:
    """Rows of somebody else, in the form of a folder that `lakegate get` filled."""
    source = min((folder / "data").iterdir(), key=lambda each: pq.read_table(each)["offset"][0].as_py())
    rows = pq.read_table(source)
    rows = rows.set_column(rows.schema.get_field_index("id"), "id", pc.add(rows["id"], pa.scalar(900, pa.int64())))
    place = folder / FORGED.removeprefix(f"accepted/{LINE}/")
    place.parent.mkdir(parents=True)
    pq.write_table(rows, place)
    slice_ = {
        "key": FORGED,
        "offset": 0,
        "rows": len(rows),
        "event_time": ["2026-11-01T00:00:00.000000Z"] * 2,
        "logical": "f1",
        "physical": "f2",
        "system_time": "2026-11-21T11:31:00.000000Z",
    }
    delivery = {
        "height": 1,
        "workload": "a" * 64,
        "contract_version": "1.0.0",
        "verdict": "accepted",
        "published_at": "2026-11-21T11:30:00.000000Z",
        "event_time": None,
        "rows": len(rows),
        "published_rows": len(rows),
        "rejected_rows": 0,
        "format": "parquet",
        "compression": "none",
        "csv": None,
        "report": "x",
        "plan": "b" * 64,
        "objects": [{"key": FORGED, "version": "v1", "size": place.stat().st_size, "checksum": ""}],
        "slices": [slice_],
    }
    head = {"format": "lakegate-manifest/3", "line": LINE, "height": 9, "segments": {"count": 0, "heights": 1}}
    document = head | {"lifecycle": None, "gapless": True, "deliveries": [delivery]}
    (folder / "_manifest.json").write_text(json.dumps(document))


def written(place: str) -> Change:
    def change(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(b"of nobody")

    return change


def made_folder(place: str) -> Change:
    return lambda folder: (folder / place).mkdir(parents=True)


def linked(place: str, to: str) -> Change:
    return lambda folder: (folder / place).symlink_to(folder / to)


def piped(place: str) -> Change:
    return lambda folder: os.mkfifo(folder / place)


def moved_and_linked(place: str) -> Change:
    """The same content, which somebody changes later at another place."""

    def change(folder: Path) -> None:
        names = sorted(each.relative_to(folder).as_posix() for each in folder.glob(place))
        away = folder.with_name("elsewhere")
        away.mkdir()
        for number, name in enumerate(names):
            shutil.move(folder / name, away / str(number))
            (folder / name).symlink_to(away / str(number))

    return change


BESIDE = ("", "refs/", "blocks/", "data/", "more/")
CHANGES: dict[str, Change] = {
    "a manifest with rows of somebody else": forged_manifest,
    "a manifest that is none": written("_manifest.json"),
    **{f"a file {each}{name}": written(each + name) for each in BESIDE for name in ("x", ".x", "_x", f"f1620{0:064x}")},
    **{f"a folder {each}x": made_folder(f"{each}x") for each in BESIDE},
    **{
        f"a link {each}x to {to}": linked(f"{each}x", to)
        for each in BESIDE[:-1]
        for to in ("refs/head", "data", "none")
    },
    **{f"a pipe {each}x": piped(f"{each}x") for each in BESIDE[:-1]},
    "a checkpoint": written(f"checkpoints/f1620{1:064x}"),
    "folder of checkpoints": made_folder("checkpoints"),
    "another reference": written("refs/tail"),
    "a lock": written("refs/.lock"),
    "what an interrupted import left": written(f"data/.f1620{1:064x}.part"),
    **{
        f"{each} linked": moved_and_linked(each)
        for each in ("refs", "blocks", "data", "refs/head", "blocks/*", "data/*")
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_part_of_a_dataset_is_named_and_never_read(
    shared: Path, ways: dict[str, list[str]], change: str
) -> None:
    """By each way to verify; the rows are those of before."""
    rows = read(shared)
    before = [seen(shared, options) for options in ways.values()]
    CHANGES[change](shared)

    assert before == [[]] * len(ways)
    assert [way for way, options in ways.items() if not seen(shared, options)] == []
    assert rows == read(shared) or "is missing, or has another size" in read(shared)
    assert len(rows) == 4


def test_a_folder_that_cannot_be_listed_is_no_verified_one(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it hides is not passed over."""
    hidden = shared / "data/hidden"
    hidden.mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == hidden:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = run("verify", str(shared))

    assert str(found.exception) == f"{hidden} cannot be read: Permission denied"

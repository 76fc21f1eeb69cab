"""Progress of the native read: bytes of the objects, whatever their format, which add up to the size of the delivery."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.console import Console

from infra.samples.sample_data import SAMPLES, write
from lakegate.base.extension_points import ROOT
from lakegate.cli import terminal
from lakegate.cli.main import app
from lakegate.contract.file_formats import Csv, Storage
from lakegate.engine.native_backend import measure
from lakegate.engine.read.data_source import LocalStore
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of, request_for
from tests.deliveries.written import STORAGES, written

TIME = re.compile(r"in [0-9.]+ s")
FIELDS = {"id": "integer", "name": "string"}
TABLE = pa.table({"id": range(3_000), "name": [f"name {at:07d}" for at in range(3_000)]})


def reported_bytes(plan: Plan, folder: Path, *objects: bytes) -> list[int]:
    """The numbers of bytes that the engine reports while it judges a delivery."""
    reported: list[int] = []
    measure(request_for(plan, folder, *objects), plan, LocalStore(), folder, read=reported.append)
    return reported


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_the_bytes_that_are_read_add_up_to_the_delivery(storage: Storage, tmp_path: Path) -> None:
    """Of packed objects packed bytes count, of tables the bytes that stand for their rows; none is counted twice."""
    plan = replace(plan_of(FIELDS), storage=storage)
    objects = written(TABLE, storage), written(TABLE.slice(0, 7), storage)

    assert sum(reported_bytes(plan, tmp_path, *objects)) == sum(map(len, objects))


@pytest.mark.parametrize("multi_line", [False, True])
def test_a_large_object_is_reported_piece_by_piece(tmp_path: Path, *, multi_line: bool) -> None:
    """An object of 33 MiB is at least four pieces, read in ranges or as one stream; none is larger than 16 MiB."""
    content = b"id,name\n" + b"1,some text that is neither long nor short\n" * 800_000
    reported = reported_bytes(plan_of(FIELDS, csv=Csv(multi_line=multi_line)), tmp_path, content)

    assert (sum(reported), len(reported) >= 4, max(reported) <= 16 << 20) == (len(content), True, True)


def test_a_terminal_gets_a_bar_and_a_pipe_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar stands on standard error, counts bytes up to the file's size, and leaves the report as a pipe gets it."""
    file = tmp_path / "orders.csv"
    write(SAMPLES["orders-clean.csv"], file, 100, seed=1)
    size = file.stat().st_size
    words = ["check", "--contract", str(ROOT / "contracts/examples/orders.odcs.yaml"), str(file)]
    console = Console(stderr=True, force_terminal=True, record=True, width=100)
    piped = CliRunner().invoke(app, words)
    monkeypatch.setattr(terminal, "standard_error", lambda: console)
    shown = CliRunner().invoke(app, words)
    bar = console.export_text()

    assert piped.stderr == ""
    assert [TIME.sub("", each.stdout) for each in (shown, piped)] == [TIME.sub("", piped.stdout)] * 2
    assert f"{size / 1000:.1f}/{size / 1000:.1f} kB" in bar

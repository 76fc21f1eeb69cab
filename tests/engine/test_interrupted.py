"""Ctrl-C, SIGTERM or a closed terminal of a native `lakegate check` in a process of its own."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: long
version: 1.0.0
status: active
name: Long
customProperties: [{property: lakegate, value: {format: csv, compression: CODEC}}]
schema:
  - name: rows
    logicalType: object
    properties:
      - {name: id, logicalType: integer, required: true, unique: true}
      - {name: name, logicalType: string, required: true}
"""


@pytest.fixture(scope="module", params=["none", "gzip"])
def long(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file that takes seconds to read, and its contract."""
    codec, folder = request.param, tmp_path_factory.mktemp("long")
    pieces = [b"id,name\n", b"".join(b"%d,text of row number %d\n" % (at, at * 7919) for at in range(100_000))]
    first, piece = [gzip.compress(each, 1) for each in pieces] if codec == "gzip" else pieces
    (folder / "long.csv").write_bytes(first + piece * 75)
    (folder / "long.yaml").write_text(CONTRACT.replace("CODEC", codec))
    return folder


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Child processes inherit that Ctrl-C is ignored, as it is in the background of a shell; they do not inherit a handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (signal.SIGINT, 0.8),
        (signal.SIGTERM, 0.4),
        pytest.param(signal.SIGHUP, 0.4, marks=pytest.mark.full),
        *(pytest.param(signal.SIGINT, each, marks=pytest.mark.full) for each in (0.0, 0.1, 0.2, 0.4)),
    ],
)
def test_an_interrupted_native_check_leaves_nothing_behind(
    long: Path, sent: int, seconds: float, tmp_path: Path
) -> None:
    """While a large file is read, each ends the command with one line and its exit code; no file of it stays."""
    folder, data, contract = tmp_path, long / "long.csv", long / "long.yaml"
    command = [sys.executable, "-m", "lakegate.cli.main", "check", "--contract", str(contract), str(data)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
    ) as running:
        until = time.monotonic() + 60
        while not list(folder.iterdir()) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(seconds)
        running.send_signal(sent)
        written = running.communicate(timeout=60)

    assert (running.returncode, *written) == (128 + sent, "", "lakegate: interrupted\n")
    assert list(folder.iterdir()) == []

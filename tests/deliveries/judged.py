"""Whole native judgements with what they cost: `lakegate check` in a process of its own each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lakegate.base.extension_points import ROOT
from lakegate.contract.file_formats import Storage

SERVER = """\
import atexit, importlib, json, os, signal, sys
from contextlib import suppress
from lakegate.cli.main import main
for line in sys.stdin:
    request = json.loads(line)
    process = os.fork()
    if not process:
        signal.alarm(request["seconds"])
        os.dup2(os.open(request["out"], os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.argv, code = ["lakegate", *request["words"]], 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        sys.stdout.flush()
        with open(request["modules"], "w") as file:
            json.dump(list(sys.modules), file)
        atexit._run_exitfuncs()
        os._exit(code)
    _, status, usage = os.wait4(process, 0)
    with suppress(FileNotFoundError), open(request["modules"]) as file:
        for name in set(json.load(file)) - sys.modules.keys():
            with suppress(ImportError):
                importlib.import_module(name)
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps([os.waitstatus_to_exitcode(status), cpu, usage.ru_maxrss * 1024]), flush=True)
"""
"""Runs each command in a child, whose costs it reports, and imports for the next ones what the child has imported.

The processes that a child has started and waited for count: their processor time, and the largest peak of all.
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """The end of a judgement."""

    code: int
    """The exit code; negative if a signal ended the process."""
    cpu: float
    """Seconds."""
    peak: int
    """Bytes of resident memory."""
    result: dict[str, Any]
    """The only one of `--json`; empty without one."""

    @property
    def verdict(self) -> str:
        """The verdict; "" without a result."""
        return str(self.result.get("verdict", ""))


class Judge:
    """The server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, storage: Storage, content: bytes, contract: str, seconds: int = 120) -> Judged:
        """Judge a file by a contract, in which `FORM` stands for the extension of the file's format, for so long at the most."""
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None
        assert taken is not None
        with TemporaryDirectory() as name:
            folder = Path(name)
            form = {"format": storage.format.value, "compression": storage.compression.value}
            (folder / "contract.yaml").write_text(contract.replace("FORM", json.dumps(form)))
            (folder / "data").write_bytes(content)
            words = ["check", "--json", "--contract", str(folder / "contract.yaml"), str(folder / "data")]
            request = {
                "words": words,
                "out": str(folder / "out"),
                "modules": str(folder / "modules"),
                "seconds": seconds,
            }
            given.write(json.dumps(request) + "\n")
            given.flush()
            code, cpu, peak = json.loads(taken.readline())
            written = (folder / "out").read_text()
            return Judged(code, cpu, peak, json.loads(written) if written.startswith("{") else {})


@contextmanager
def judge() -> Iterator[Judge]:
    """A server, which ends when its standard input is closed."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
        yield Judge(process)

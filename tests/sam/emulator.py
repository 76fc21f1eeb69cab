"""The Runtime Interface Emulator of AWS, that aws-sam-cli carries: the functions as Lambda runs them, without a container.

1. The bundle is unpacked, as Lambda does; its environment is the built template's.
2. Beside it lies what Lambda's own image has: the runtime client, and nothing else. Python starts without site-packages.
3. One emulator answers one call at a time: a second one at once would make it panic.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakegate.base.extension_points import TOOLS
from tests.sam.built import Stack

SITE = TOOLS / "sam/lib/python3.11/site-packages"
BINARY = SITE / "samcli/local/rapid/aws-lambda-rie-x86_64"
RUNTIME = ("awslambdaric", "snapshot_restore_py.py", "simplejson")
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_SESSION_TOKEN": "testing"}
REGION = "eu-west-1"
PATIENCE_SECONDS = 60


def unpacked(stack: Stack, template: Path, folder: Path) -> Path:
    """The bundle of the template's functions, unpacked; all four share it."""
    bundle = template.parent / stack.function("IntakeFunction")["CodeUri"]
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder / "task")
    (folder / "runtime").mkdir()
    for path in [*(SITE / name for name in RUNTIME), *SITE.glob("runtime_client*.so")]:
        (folder / "runtime" / path.name).symlink_to(path)
    return folder


@dataclass
class Emulator:
    """One function in its emulator; started at its first call."""

    properties: dict[str, Any]
    folder: Path
    """Where `task` and `runtime` lie."""
    log: Path
    trusted: Path | None = None
    """Certificates to trust instead of those of the system."""
    process: subprocess.Popen[bytes] | None = None
    address: str = ""

    def invoke(self, event: Any) -> Any:
        """What the function answers; an error is a document with `errorType`, a timeout a text."""
        if self.process is None:
            self._start()
        request = urllib.request.Request(self.address, json.dumps(event).encode())  # noqa: S310 - of ours
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - of ours
                body = answer.read()
        except urllib.error.HTTPError as error:
            body = error.read()
            error.close()
        return json.loads(body) if body[:1] in {b"{", b"[", b'"', b"n"} else body.decode()

    def lines(self) -> list[dict[str, Any]]:
        """What the function itself wrote so far: JSON, a line each."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def stop(self) -> None:
        """End the emulator and the Python it started."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _start(self) -> None:
        invoking, runtime = (f"127.0.0.1:{free_port()}" for _ in range(2))
        handler = self.properties["Handler"]
        python = str(TOOLS / "sam/bin/python")
        addresses = ["--runtime-interface-emulator-address", invoking, "--runtime-api-address", runtime]
        command = [str(BINARY), "--log-level", "error", *addresses, python, "-S", "-m", "awslambdaric", handler]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - AWS's emulator, from the lock file
                command,
                cwd=self.folder / "task",
                env=self._environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.address = f"http://{invoking}/2015-03-31/functions/function/invocations"
        _until_it_listens(invoking, self.process)

    def _environment(self) -> dict[str, str]:
        task = self.folder / "task"
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "TZ": ":UTC",
            "LANG": "en_US.UTF-8",
            "PYTHONPATH": f"{task}:{self.folder / 'runtime'}",
            "LAMBDA_TASK_ROOT": str(task),
            "_HANDLER": self.properties["Handler"],
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.11",
            "AWS_LAMBDA_FUNCTION_NAME": self.properties["Handler"].split(".")[1],
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.properties["MemorySize"]),
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(self.properties["Timeout"]),
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            **({} if self.trusted is None else {"SSL_CERT_FILE": str(self.trusted)}),
            **CREDENTIALS,
            **self.properties["Environment"]["Variables"],
        }


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _until_it_listens(address: str, process: subprocess.Popen[bytes]) -> None:
    host, _, port = address.partition(":")
    while process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex((host, int(port))) == 0:
                return
    raise AssertionError(f"the emulator ended with {process.returncode}")

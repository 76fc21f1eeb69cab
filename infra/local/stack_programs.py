"""The two programs of the local stack, how each is started, and what they need to be there."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.local.aws.guard import VARIABLE
from lakegate.aws.open_stack import ACCOUNT, REGION
from lakegate.errors import SetUpError
from lakegate.extension_points import ROOT, TOOLS
from lakegate.spark.local_spark import jars, java_home

if TYPE_CHECKING:
    from collections.abc import Sequence

LAUNCHER: Final = Path(__file__).with_name("aws") / "launcher.py"


PYTHON_OF_AWS: Final = TOOLS / "ministack/bin/python"


SAM: Final = Path(__file__).with_name("aws") / "sam.py"


PYTHON_OF_SAM: Final = TOOLS / "sam/bin/python"


CODE: Final = ROOT / "build/local/code"
"""Contents of the functions' bundles."""


LOOPBACK: Final = "127.0.0.1"


QUIET: Final = {
    "SFTP_ENABLED": "0",
    "IOT_MTLS_ENABLED": "0",
    "DOCKER_HOST": "unix:///nowhere",
    "S3_PERSIST": "0",
    "LOG_LEVEL": "INFO",
}
"""ministack opens ports of its own, looks for containers and keeps objects on disk by default."""


def examine() -> None:
    """Raise SetUpError, in one sentence, where something that the stack is made of is not there."""
    for path in (PYTHON_OF_AWS, PYTHON_OF_SAM):
        if not path.is_file():
            raise SetUpError(f"{path.relative_to(ROOT)} is missing: run `make stack-tools`.")
    java_home()
    jars()


def listen(port: int) -> socket.socket:
    """A socket bound to loopback before anything is started, so that everybody knows the address from the beginning.

    Port 0 takes a free one. SetUpError where the port is in use.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = "in use" if error.errno == errno.EADDRINUSE else "not for you to take"
        raise SetUpError(f"port {port} is {why}: choose another with --port, or leave it out.") from None
    return listening


def aws_command(descriptor: int) -> Sequence[str]:
    """Starts the embedded AWS on a bound socket."""
    return (str(PYTHON_OF_AWS), str(LAUNCHER), str(descriptor))


def aws_environment(scratch: Path, emr: Path, secret: str) -> dict[str, str]:
    """Of the embedded AWS and, through it, of the functions; `scratch` takes all that it unpacks.

    The file `emr` holds the address of the local EMR Serverless once that runs.
    """
    CODE.mkdir(parents=True, exist_ok=True)
    own = {"MINISTACK_REGION": REGION, "AWS_SECRET_ACCESS_KEY": secret, VARIABLE: secret}
    own |= {"LAKEGATE_EMR_ADDRESS": str(emr), "LAKEGATE_CODE": str(CODE)}
    return _environment(scratch) | QUIET | own


def emr_command(endpoint: str, folder: Path, mode: str, port: int = 0) -> Sequence[str]:
    """Starts the local EMR Serverless beside the AWS at an endpoint; port 0 takes a free one."""
    place = ("--port", str(port), "--aws-endpoint", endpoint, "--account", ACCOUNT, "--region", REGION)
    return (sys.executable, "-m", "infra.local.emr", *place, "--state-dir", str(folder), "--mode", mode)


def emr_environment(scratch: Path, secret: str) -> dict[str, str]:
    """Of the local EMR Serverless and, through it, of the job: it imports this clone's code."""
    return _environment(scratch) | {"PYTHONPATH": str(ROOT), VARIABLE: secret}


def _environment(scratch: Path) -> dict[str, str]:
    """The caller's, without what would name a real account, another Spark, or a proxy between this machine and itself."""
    scratch.mkdir(parents=True, exist_ok=True)
    foreign = ("AWS_", "LAKEGATE_", "SPARK_", "PYSPARK_", "PYTHON", "LAMBDA_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    direct = f"{LOOPBACK},localhost"
    return own | {"TMPDIR": str(scratch), "NO_PROXY": direct, "no_proxy": direct, "PYTHONUNBUFFERED": "1"}

"""`local-emr`: EMR Serverless on this machine until a signal. One line of JSON on standard output when ready."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import botocore.session
from botocore.config import Config

from local_emr.api_shapes import Home, StartError
from local_emr.faults import Orders
from local_emr.guard import VARIABLE
from local_emr.quotas import NONE, QUEUED, VCPUS, Quotas, read_rates
from local_emr.run_life import EventBridge, Life, Reporter
from local_emr.server import Service, ServiceServer
from local_emr.spark_processes import Executor, FileCache, Processes, Resident, Submitted, Surroundings

UNUSABLE: Final = 2
SEATS: Final = 2 if (os.cpu_count() or 1) >= 4 else 1  # noqa: PLR2004 - a driver keeps two processors busy
MODES: Final[Mapping[str, Callable[[Surroundings, argparse.Namespace], Executor]]] = {
    "resident": lambda around, options: Resident(around, options.seats, options.state_dir / "driver"),
    "submit": lambda around, options: Submitted(around, options.seats),
    "process": lambda around, options: Processes(around, options.seats),
}


def main() -> int:
    """Serve; 2 and one sentence where that cannot be, 0 where nobody reads the address."""
    forget_callers_aws()
    secret = os.environ.pop(VARIABLE, "")
    try:
        with suppress(BrokenPipeError):
            serve(arguments().parse_args(), secret)
    except StartError as error:
        print(f"emr: {error}", file=sys.stderr)
        return UNUSABLE
    return 0


def serve(options: argparse.Namespace, secret: str) -> None:
    """Build the service, print its address, and serve until SIGTERM or SIGINT.

    `secret`: by which requests are signed, those of the service, too; empty: a random one, which is printed.
    """
    used = secret or token_hex(20)
    settings = {"spark.driver.memory": options.memory, **dict(options.conf)}
    around = Surroundings(options.aws_endpoint, options.region, options.account, used, tuple(options.code), settings)
    executor = MODES[options.mode](around, options)
    outlet = EventBridge(_client("events", around))
    reporter = Reporter(outlet)
    files = FileCache(_client("s3", around), options.state_dir / "code")
    quotas = NONE if options.no_quotas else Quotas(options.vcpus, options.queued, read_rates(options.rate))
    life = Life(executor, files, reporter, options.state_dir / "runs", options.minute, quotas)
    kept = options.state_dir / "applications.json"
    service = Service(Home(options.account, options.region), life, reporter, Orders(), kept)
    server = ServiceServer(options.port, service, executor, used)
    executor.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(json.dumps({"endpoint": server.endpoint, **({} if secret else {"secret": used})}), flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    finally:
        server.server_close()
        life.close()
        outlet.close()


def forget_callers_aws() -> None:
    """Let nothing of the caller's AWS settings reach this service or its programs: they might name a real account."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


def arguments() -> argparse.ArgumentParser:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(prog="local-emr", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of 127.0.0.1; 0 (the default) takes a free one")
    parser.add_argument("--aws-endpoint", required=True, metavar="URL", help="of S3 and EventBridge")
    parser.add_argument("--state-dir", required=True, type=_folder, metavar="DIR", help="for logs and working files")
    parser.add_argument("--mode", choices=tuple(MODES), default="resident", help="what runs programs (resident)")
    parser.add_argument("--seats", type=int, default=SEATS, help="runs at a time (2; 1 below four processors)")
    parser.add_argument("--memory", default="2g", help="heap of a Spark driver (2g)")
    parser.add_argument(
        "--conf",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="setting of Spark that every run has; may be repeated",
    )
    parser.add_argument(
        "--code",
        type=lambda text: Path(text).resolve(),
        action="append",
        default=[],
        metavar="DIR",
        help="folder of Python's path that every program has; may be repeated",
    )
    parser.add_argument(
        "--minute", type=float, default=60.0, metavar="SECONDS", help="how long a minute of a limit lasts"
    )
    parser.add_argument("--vcpus", type=int, default=VCPUS, help="quota: vCPUs of all runs together (16)")
    parser.add_argument("--queued", type=int, default=QUEUED, help="quota: runs that wait at the same time (2000)")
    parser.add_argument(
        "--rate",
        action="append",
        default=[],
        metavar="OPERATION=PER_SECOND/BURST",
        help="quota: calls of an operation (StartJobRun=1/25 and those of AWS for the others); may be repeated",
    )
    parser.add_argument("--no-quotas", action="store_true", help="no quota at all")
    parser.add_argument("--account", default="000000000000", help="the account that is played, and the access key")
    parser.add_argument("--region", default="us-east-1", help="the region that is played")
    return parser


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise StartError(f"--conf takes NAME=VALUE, not {text}")
    return name, value


def _folder(text: str) -> Path:
    path = Path(text).resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise StartError(f"{path} cannot be used as a folder: name another --state-dir") from None
    return path


def _client(service: str, around: Surroundings) -> Any:  # noqa: ANN401 - the caller knows the type of the client
    config = Config(
        retries={"total_max_attempts": 2},
        connect_timeout=3,
        read_timeout=30,
        s3={"addressing_style": "path"},
        max_pool_connections=32,
    )
    return botocore.session.Session().create_client(
        service,
        region_name=around.region,
        endpoint_url=around.endpoint,
        aws_access_key_id=around.access_key,
        aws_secret_access_key=around.secret_key,
        config=config,
    )


if __name__ == "__main__":
    sys.exit(main())

"""How fast a source is pulled: `python -m tests.bench.pull --megabytes 1024`, over HTTPS from the loopback.

The real adapter asks a server in a thread of this process, with TLS, and a tick writes what it reads in parts. Landing is a
double that computes the checksum of each part, as the client of S3 does, and keeps nothing: what is measured is this side.
"""

from __future__ import annotations

import argparse
import resource
import ssl
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Process, Queue

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.features.pull.https_source import HttpsSource
from lakegate.features.pull.pull_sources import PullAccess
from lakegate.features.pull.pull_task import FinishedPull, LandedPart, run_now, tick
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from tests.deliveries.delivery import plan_of
from tests.fakes.receiver import certificate
from tests.simulation.environment import LAKE, LANDING, Environment
from tests.unit.features.pull.pull_stage import LINE, PREFIX

BLOCK = bytes(range(256)) * 4_096
"""1 MiB."""


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    megabytes = 1

    def do_GET(self) -> None:
        """Answer with the body, or with what follows a byte of it."""
        size = self.megabytes * len(BLOCK)
        self.send_response(200)
        self.send_header("ETag", '"bench"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for _ in range(self.megabytes):
            self.wfile.write(BLOCK)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _serve(megabytes: int, ports: Queue[int]) -> None:
    _Server.megabytes = megabytes
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate())
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ports.put(server.server_address[1])
    server.serve_forever()


@contextmanager
def serving(megabytes: int) -> Iterator[int]:
    """A web server in a process of its own; its port."""
    certificate()
    ports: Queue[int] = Queue()
    process = Process(target=_serve, args=(megabytes, ports), daemon=True)
    process.start()
    try:
        yield ports.get()
    finally:
        process.terminate()
        process.join()


@dataclass
class Counting:
    """LandingParts that keeps only numbers."""

    checksum: int = 0
    size: int = 0

    def begin(self, _key: str) -> str:
        """An upload."""
        return "bench"

    def add(self, _key: str, _upload: str, _number: int, body: bytes) -> None:
        """A part."""
        self.checksum, self.size = zlib.crc32(body, self.checksum), self.size + len(body)

    def arrived(self, _key: str, _upload: str) -> tuple[LandedPart, ...]:
        """Nothing is continued."""
        return ()

    def complete(self, _key: str, _upload: str) -> None:
        """Nothing is kept."""

    def abort(self, _key: str, _upload: str) -> None:
        """Likewise."""


def pulled(megabytes: int) -> tuple[FinishedPull, Counting, float, float]:
    """One pull: its end, what was written, seconds, and seconds of the processor."""
    env, landing = Environment(), Counting()
    with serving(megabytes) as port:
        pull = Pull(f"https://localhost:{port}/bench.bin", "rate(1 day)")
        plan = replace(plan_of({"id": "integer"}), policy=Policy(pull=pull))
        env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
        route = Route(LANDING, PREFIX, "partner", "rows", 1, "1.0.0", "active", plan.digest)
        plans, labels = (("rows", plan.digest),), (("pull", "rows"),)
        env.memory.registry.publish(
            Publication("partner", "1.0.0", "active", "c", (route,), plans=plans, labels=labels)
        )
        web = Web(lambda address: address.is_loopback, None, ssl.create_default_context(cafile=str(certificate())))
        source = HttpsSource(web, PullAccess(Secrets(None), frozenset({"localhost"}), ""))
        run(tick(env.dependencies, source, landing), env.memory.clock)
        run(run_now(env.dependencies, LINE), env.memory.clock)
        before, used = time.perf_counter(), time.process_time()
        run(tick(env.dependencies, source, landing), env.memory.clock)
        seconds, processor = time.perf_counter() - before, time.process_time() - used
    return env.memory.pulls.get(LINE).ends[0], landing, seconds, processor


def main() -> None:
    """Pull once, and print how fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_024)
    megabytes = parser.parse_args().megabytes
    end, landing, seconds, processor = pulled(megabytes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    print(  # noqa: T201 - a command
        f"{end.outcome.value} {landing.size >> 20:,} MiB in {seconds:.1f} s: {megabytes / seconds:,.0f} MiB/s,"
        f" {processor:.1f} s of the processor, peak memory {peak:,.0f} MiB"
    )


if __name__ == "__main__":
    main()

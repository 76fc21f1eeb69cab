"""A validator of DCM on the loopback, in the process of a test: its one rule is a number of lines that data may have."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

from tests.fakes.receiver import certificate


@dataclass
class ProbeService:
    """What it was asked, and what it read."""

    url: str = ""
    started: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the id of the validation, its answer."""
    read: list[bytes] = field(default_factory=list)
    """What was at the address of each validation."""
    credentials: set[str] = field(default_factory=set)

    def start(self, document: dict[str, Any]) -> None:
        """Read the data by the address, and measure the rules."""
        with urlopen(document["access"]["path"]) as answer:  # noqa: S310 - the address that the gate signed
            body = answer.read()
        self.read.append(body)
        lines = len(body.splitlines())
        results = [
            {
                "id": rule["id"],
                "metric": lines,
                "version": "7",
                "severity": {"fail": {"success": lines <= rule["args"]["most"]}, "warn": None},
            }
            for rule in document["validations"]
        ]
        name = document["workloadId"]
        self.started[name] = {"workloadId": name, "status": "OK", "result": results}


@contextmanager
def probing() -> Iterator[ProbeService]:
    """The service, until the end of the block."""
    service = ProbeService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.credentials.add(self.headers["Authorization"])
            service.start(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer({})

        def do_GET(self) -> None:
            self._answer(service.started[self.path.rpartition("/")[2]])

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def _answer(self, document: dict[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate())
    server.socket = context.wrap_socket(server.socket, server_side=True)
    service.url = f"https://localhost:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()

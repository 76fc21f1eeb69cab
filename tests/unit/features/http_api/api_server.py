"""The real handler of the HTTP API behind a server of this process, which also takes uploads."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

import pytest

from lakegate.features.http_api.api_routes import ROUTES
from tests.simulation.environment import Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.http_api.conftest import Api, token_of

TOKEN = {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "producer", "lakegate_contracts": "orders"}}}


class Server:
    """The API at an address."""

    def __init__(self, api: Api) -> None:
        self.api, self.stage = api, Stage(api.env, lambda _: Fault.NONE)
        self.seen: list[dict[str, str]] = []
        """Headers of each request to the API."""
        self.answer: tuple[int, bytes, dict[str, str]] | None = None
        """What is answered instead of the API's answer."""
        self.put_status = 200
        self.authorizer = TOKEN
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def uploaded(self, key: str, body: bytes) -> int:
        """The status of an upload."""
        if self.put_status == 200:
            self.api.env.upload(key, body)
        return self.put_status

    def _handler(own) -> type[BaseHTTPRequestHandler]:  # noqa: C901, N805 - one method for each verb; the handler has the other self
        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path.startswith("/landing/"):
                    self.give(own.uploaded(self.path.removeprefix("/landing/"), body), b"", {})
                else:
                    self.pass_on(body)

            def do_GET(self) -> None:
                settle(own.stage)
                self.pass_on(b"")

            def do_POST(self) -> None:
                self.pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

            def do_DELETE(self) -> None:
                self.pass_on(b"")

            def pass_on(self, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                own.seen.append(headers)
                if own.answer is not None:
                    self.give(*own.answer)
                    return
                address, _, query = self.path.partition("?")
                route, path = routed(self.command, address)
                parts = {"path": " / ".join(path), "query": dict(parse_qsl(query))}
                given = headers | token_of(own.authorizer)
                response = own.api.call(route, body, headers=given, authorizer=own.authorizer, **parts)
                self.give(response.status, response.text.encode(), {})

            def give(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def routed(method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """The route of a request and the parameters of its path, as API Gateway finds them."""
    for route in ROUTES:
        verb, form = route.split(" ")
        if verb == method and (found := re.fullmatch(re.sub(r"{\w+}", "([^/]+)", form), path)):
            return route, found.groups()
    raise AssertionError(path)


@pytest.fixture
def server(serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A running server, and a token in the environment."""
    made = Server(serve(Environment()))
    made.api.env.memory.uploads.url = lambda key, *_: f"{made.url}/landing/{key}"  # type: ignore[method-assign]  # a test's own
    monkeypatch.setenv("LAKEGATE_TOKEN", "the-token")
    thread = threading.Thread(target=made.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()

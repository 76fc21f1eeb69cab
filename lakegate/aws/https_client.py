"""HTTPS requests to configured addresses, and HTTP where a person allowed it: public hosts only, within limits."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from lakegate.base.errors import InputError, PortError, Throttled, Unanswered

API_SECONDS: Final = 60


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is a response that is refused."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Nothing follows."""


OPENER: Final = build_opener(_NoRedirect)


MAX_RESPONSE_BYTES: Final = 8 << 20


def send_request(request: Request, what: str) -> tuple[int, bytes]:
    """Status and body of the response. Raises InputError where there is none; `what`: who was asked."""
    try:
        with OPENER.open(request, timeout=API_SECONDS) as response:
            return response.status, response.read(MAX_RESPONSE_BYTES)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(MAX_RESPONSE_BYTES)
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise InputError(f"{what} does not answer ({type(reason).__name__}): is the address right?") from None


def redirect_target(url: str, response: HTTPResponse) -> str:
    """The address that a redirect leads to; `Web` judges it as any other."""
    try:
        return urljoin(url, response.getheader("Location") or "")
    except ValueError:
        raise PortError("address-refused") from None


def read_exactly(read: Callable[[int], bytes], length: int) -> bytes:
    """So many bytes, of a stream that may answer with fewer; fewer only at its end."""
    found = bytearray()
    while len(found) < length and (more := read(length - len(found))):
        found += more
    return bytes(found)


# ---- Requests to public hosts ----
# 1. The host's name is resolved once, and every address of it has to be public: a name may have several, and may change.
# 2. The connection goes to one of these addresses, with the host's name in TLS: no second resolution can lead elsewhere.
# 3. The whole exchange has one deadline. Of the response to a POST only status and headers are read, which `http.client` limits.
#
# A redirect is a response like any other: it is never followed.
#
# The loopback, on any port, is allowed where the secrets come from the loopback, too: a stack on an embedded AWS.


SECONDS_TO_HEADERS: Final = 5.0
"""From the beginning of the connection to the end of the response's headers."""
MAX_BODY: Final = 256 << 10
"""Bytes."""
BUFFER: Final = 64 << 10
"""Bytes that are read at a time."""
PORTS: Final = frozenset({443, 8443})
"""Ports for HTTPS; a request to any other port could speak to another protocol."""
PLAIN_PORTS: Final = frozenset({80, 8080})
"""Likewise for HTTP."""
LONGEST_URL: Final = 2_048
_PORT: Final = {"http": 80, "https": 443}
OK, MULTIPLE, TOO_MANY, SERVER_ERROR = 200, 300, 429, 500
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 addresses behind NAT64 (RFC 6052)."""
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_EXAMPLES: Final = ipaddress.IPv6Network("3fff::/20")
"""For documentation (RFC 9637)."""


def is_public(address: Address) -> bool:
    """Whether an address is one of the public Internet, also if it contains an IPv4 address.

    Of IPv6 that is global unicast (RFC 4291) alone: other ranges lead to a network of their own, whatever they are called.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in _TRANSLATED:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST or address in _EXAMPLES:
            return False
    return address.is_global and not address.is_multicast


@dataclass(frozen=True, slots=True)
class Web:
    """Posts to addresses. A test allows the loopback by `allowed`, `ports` and a `context` that trusts its certificate."""

    allowed: Callable[[Address], bool] = is_public
    ports: frozenset[int] | None = PORTS
    """None: every port."""
    context: ssl.SSLContext | None = None
    """None: the certificates that the system trusts."""
    seconds: float = SECONDS_TO_HEADERS
    idle: float = SECONDS_TO_HEADERS
    """The longest time that nothing comes."""
    most: int = MAX_BODY
    plain: bool = False
    """Whether addresses of HTTP are allowed, too: what is sent there, and what is answered, can be read and changed."""
    is_local: Callable[[], bool] = bool
    """Whether the loopback is allowed on every port, beside what is allowed anyway; asked at each request."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a POST request once. Errors name the status or the kind of failure, never the address or the response.

        Raises Throttled (429), Unanswered (5xx, no response in time, a broken connection) and PortError (any other status,
        an address that is not allowed).
        """
        if len(body) > self.most:
            raise PortError("too-large")
        with self.request("POST", url, body, headers) as response:
            status = response.status
        refuse_status(status)

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        """The response to one GET request, whose body may be read within the deadline. Raises as `post`, but for no status."""
        with self.request("GET", url, None, headers) as response:
            yield response

    @contextmanager
    def request(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        """The response to one request, whatever its status. Raises as `get`."""
        parts, until = split(url, plain=self.plain), time.monotonic() + self.seconds
        host, port, is_plain = parts.hostname or "", parts.port or _PORT[parts.scheme], parts.scheme == "http"
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        web = replace(self, ports=PLAIN_PORTS) if is_plain and self.ports is not None else self
        if not (web._is_open(port) or self.is_local()):  # noqa: SLF001 - of the same class
            raise PortError("port-refused")
        try:
            context = self.context or ssl.create_default_context()
            address = web.resolved(host, port)
            with (
                socket.create_connection((str(address), port), timeout=min(_left(until), SECONDS_TO_HEADERS)) as plain,
                nullcontext(plain) if is_plain else context.wrap_socket(plain, server_hostname=host) as secure,
            ):
                connection = HTTPConnection(host, port)
                timed: Any = _Timed(secure, until, self.idle)
                connection.sock = timed
                _send(connection, method, target, body, {**headers, "Connection": "close"})
                response = HTTPResponse(timed, method=method)
                response.begin()
                yield response
        except ssl.SSLCertVerificationError:
            raise PortError("certificate-refused") from None
        except (OSError, HTTPException) as error:
            raise Unanswered(type(error).__name__) from None

    def resolved(self, host: str, port: int) -> Address:
        """An address of a host, all of whose addresses are allowed, as is the port. Raises PortError, OSError."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:
            raise PortError("address-refused") from None
        addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
        if all(address.is_loopback for address in addresses) and self.is_local():
            return addresses[0]
        if not all(map(self.allowed, addresses)):
            raise PortError("address-refused")
        if not self._is_open(port):
            raise PortError("port-refused")
        return addresses[0]

    def _is_open(self, port: int) -> bool:
        return self.ports is None or port in self.ports


class _Timed(RawIOBase):
    """A socket with one deadline for all that is sent and received, as `http.client` uses sockets."""

    def __init__(self, wrapped: socket.socket, until: float, idle: float) -> None:
        super().__init__()
        self._socket = wrapped
        self._until = until
        self._idle = idle

    def sendall(self, data: Any) -> None:  # noqa: ANN401 - as sockets have it
        """Send all; `socket.sendall` keeps one timeout for all of it."""
        self._socket.settimeout(min(_left(self._until), self._idle))
        self._socket.sendall(data)

    def makefile(self, *_: object) -> BufferedReader:
        """The file that the response is read from."""
        return BufferedReader(self, BUFFER)

    def readable(self) -> bool:
        """As files have it."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as files have it
        """Read what comes before the deadline."""
        self._socket.settimeout(min(_left(self._until), self._idle))
        return self._socket.recv_into(buffer)


def _send(connection: HTTPConnection, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> None:
    try:
        connection.request(method, target, body, dict(headers))
    except ValueError:  # of http.client: signs that a request line or a header cannot have
        raise PortError("address-refused") from None


def refuse_status(status: int) -> None:
    """Raise the error of a status that is no success."""
    if status == TOO_MANY:
        raise Throttled("http-429")
    if status >= SERVER_ERROR:
        raise Unanswered(f"http-{status}")
    if not OK <= status < MULTIPLE:
        raise PortError(f"http-{status}")


def split(url: str, *, plain: bool = False) -> SplitResult:
    """The parts of an address that may be asked; `plain`: also of HTTP. Raises PortError."""
    try:
        parts = urlsplit(url)
        is_right = (
            (parts.scheme == "https" or (plain and parts.scheme == "http"))
            and parts.hostname
            and not parts.username
            and not parts.password
        )
        refused = not is_right or parts.port == 0 or len(url) > LONGEST_URL or not (url.isascii() and url.isprintable())
    except ValueError:
        refused = True
    if refused or " " in url:
        raise PortError("address-refused")
    return parts


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left

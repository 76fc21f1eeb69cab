"""A receiver of HTTPS requests on the loopback, which accepts, refuses, redirects, hangs or answers twice."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lakegate.aws.https_client import Web

ACCEPTED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Receiver:
    """What came, and how to answer."""

    port: int
    context: ssl.SSLContext
    answer: bytes = ACCEPTED
    answers: list[bytes] = field(default_factory=list)
    """To the next requests, before `answer`."""
    hangs: str = ""
    """`before` an answer, `inside` one: byte by byte, slowly."""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Request line, headers and body of each."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/hook?a=1"

    def web(self, seconds: float = 5.0) -> Web:
        """What may post to this receiver, and nowhere else."""
        return Web(lambda address: address.is_loopback, None, self.context, seconds)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, until the end of the block."""
    chain = certificate()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(chain)
    with socket.create_server(("127.0.0.1", 0)) as server:
        trusting = ssl.create_default_context(cafile=str(chain))
        receiver = Receiver(server.getsockname()[1], trusting)
        thread = threading.Thread(target=_serve, args=(server, served, receiver), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.stopped.set()
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", receiver.port)).close()
            thread.join(10)


def _serve(server: socket.socket, context: ssl.SSLContext, receiver: Receiver) -> None:
    while not receiver.stopped.is_set():
        plain, _ = server.accept()
        plain.settimeout(10)
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            _take(connection, receiver)


def _take(connection: ssl.SSLSocket, receiver: Receiver) -> None:
    stream = connection.makefile("rb")
    line = stream.readline().decode().strip()
    headers = {}
    while text := stream.readline().decode().strip():
        name, _, value = text.partition(": ")
        headers[name.lower()] = value
    if not line:
        return
    receiver.requests.append((line, headers, stream.read(int(headers.get("content-length", 0)))))
    if receiver.hangs == "before":
        receiver.stopped.wait(10)
        return
    if receiver.hangs == "inside":
        for number in range(len(receiver.answer)):
            connection.sendall(receiver.answer[number : number + 1])
            if receiver.stopped.wait(0.2):
                return
    connection.sendall(receiver.answers.pop(0) if receiver.answers else receiver.answer)


@cache
def certificate() -> Path:
    """A file with a key and a certificate for `localhost`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = Path(mkdtemp(), "receiver.pem")
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path

"""Access to services of this machine that run code: for programs that know the secret of this start.

A page in a browser names itself (`Origin`), or comes by a foreign name that leads here (`Host`). A program of another user on
this machine does not know the secret, by which requests are signed (AWS Signature Version 4) as for AWS.

The standard library alone, so that a local AWS beside this service can import it in an environment of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote_plus

VARIABLE: Final = "LOCAL_AWS_SECRET"
"""Environment variable with the secret; never a word of a command, which everybody on the machine can list."""
HEADER: Final = "x-local-aws-secret"
"""With the secret itself, for requests that cannot be signed."""
NAMES: Final = frozenset({"127.0.0.1", "localhost"})
ALGORITHM: Final = "AWS4-HMAC-SHA256"
UNSIGNED: Final = "UNSIGNED-PAYLOAD"


def is_local(headers: Mapping[str, str]) -> bool:
    """Whether a request names this machine and comes from no page. Names of headers are in lower case."""
    host = headers.get("host", "").partition(":")[0].lower()
    return (host in NAMES or host.endswith(".localhost")) and "origin" not in headers


def is_trusted(secret: str, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bool:
    """Whether a request has the secret, or is signed by it, in a header or in its query. `target`: path and query as sent.

    Path and query may be signed as AWS defines it, or as they are sent, which older versions of curl do.
    """
    if HEADER in headers:
        return hmac.compare_digest(headers[HEADER].encode(), secret.encode())
    path, _, text = target.partition("?")
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    query = [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]
    given = dict(query)
    in_query = "X-Amz-Signature" in given
    if in_query:
        parts = {name: given.get(f"X-Amz-{name}", "") for name in ("Credential", "SignedHeaders", "Signature", "Date")}
    else:
        algorithm, _, rest = headers.get("authorization", "").partition(" ")
        fields = (part.strip().partition("=")[::2] for part in rest.split(",")) if algorithm == ALGORITHM else ()
        parts = {"Date": headers.get("x-amz-date", ""), **dict(fields)}
    scope = parts.get("Credential", "").split("/")
    if len(scope) != 5 or parts["Date"][:8] != scope[1]:  # noqa: PLR2004 - key, day, region, service, a constant
        return False
    is_s3 = scope[3] == "s3"
    hashed = headers.get("x-amz-content-sha256") or hashlib.sha256(body).hexdigest()
    signed = parts.get("SignedHeaders", "")
    rest_of_it = (
        "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in signed.split(";")),
        signed,
        UNSIGNED if in_query and is_s3 else hashed,
    )
    key = f"AWS4{secret}".encode()
    for part in scope[1:]:
        key = _keyed(key, part)
    signatures = []
    for at, of in ((path if is_s3 else quote(path, safe="/-_.~"), _canonical(query)), (path, text)):
        digest = hashlib.sha256("\n".join((method, at, of, *rest_of_it)).encode()).hexdigest()
        signatures.append(_keyed(key, "\n".join((ALGORITHM, parts["Date"], "/".join(scope[1:]), digest))).hex())
    return any(hmac.compare_digest(signature.encode(), parts.get("Signature", "").encode()) for signature in signatures)


def _keyed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _canonical(query: list[tuple[str, str]]) -> str:
    """The query as it is signed: sorted, without its own signature."""
    pairs = sorted([quote(text, safe="-_.~") for text in pair] for pair in query if pair[0] != "X-Amz-Signature")
    return "&".join("=".join(pair) for pair in pairs)

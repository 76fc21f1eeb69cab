"""Source by scheme; S3 sources; allowed hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from lakegate.aws.clients import port_errors
from lakegate.aws.https_client import read_exactly
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import ConditionFailed, PortError

if TYPE_CHECKING:
    from lakegate.contract.delivery_policy import Pull


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """A source's statement about its content: two contents with the same known identity are the same."""

    etag: str = ""
    """As the source writes it, with quotes."""
    modified: str = ""
    """As the source writes it."""
    version: str = ""
    """Of an object of S3."""

    @property
    def is_known(self) -> bool:
        """Whether the source states anything."""
        return bool(self.etag or self.modified or self.version)

    def is_as(self, seen: SourceIdentity) -> bool:
        """Whether this is what was seen: by the strongest statement that both have."""
        for one, other in ((self.etag, seen.etag), (self.version, seen.version), (self.modified, seen.modified)):
            if one and other:
                return one == other
        return False


# ---- Allowed hosts and secrets ----


SCOPE: Final = frozenset({"contract", "host"})
"""Of every secret: the contract that may use it, and the host that it is sent to."""
MAX_RESPONSE, MAX_IDLE, RESERVE = 600.0, 30.0, 20.0
"""Seconds: of one response with its body, without a byte of it, and that are left after it to write how it ended."""


@dataclass(frozen=True, slots=True)
class PullAccess:
    """Hosts, secrets and time of pulls."""

    secrets: Secrets
    hosts: frozenset[str]
    """Names of hosts, in lower case; no other one is asked, also after a redirect."""
    prefix: str
    """Of the names of secrets."""
    remaining: Callable[[], float] = lambda: float("inf")
    """Seconds that this invocation has left."""

    @property
    def seconds(self) -> float:
        """The time for one response with its body."""
        return max(1.0, min(MAX_RESPONSE, self.remaining() - RESERVE))

    def allow(self, host: str | None) -> None:
        """Raise PortError if the host is not listed."""
        if (host or "") not in self.hosts:
            raise PortError("host-refused")

    def secret(self, contract: str, name: str, host: str, keys: frozenset[str]) -> dict[str, str]:
        """A secret without its scope, which has to be this contract and host: else a contract could use that of another one."""
        content = self.secrets.content(f"{self.prefix}{name}", SCOPE | keys)
        if not content.keys() >= SCOPE:
            raise PortError("secret-malformed")
        if (content["contract"], content["host"].lower()) != (contract, host):
            raise PortError("secret-of-another")
        return {key: value for key, value in content.items() if key not in SCOPE}


# ---- Ports ----


class SourceChanged(PortError):  # noqa: N818 - the name is what happened
    """The source is not any more what was begun, or cannot continue: what is fetched of it is of no use."""


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source that is being read."""

    identity: SourceIdentity
    size: int | None
    """Bytes of the whole source; None if it does not say."""
    resumable: bool
    """Whether it can be opened again in its middle, and would say if it is another one."""
    read: Callable[[int], bytes]
    """Up to so many bytes; fewer only at the end. Raises Unanswered where it breaks off."""


class Transfer(Protocol):
    """Sources of pulls."""

    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> AbstractContextManager[OpenedSource | None]:
        """Read a source of a contract; None if it is as `unless` says. With `begun`, go on from byte `at` of that one.

        Raises SourceChanged, Unanswered and Throttled, where another attempt is right, and PortError with a code else.
        """
        ...


# ---- Adapters by scheme ----


PLAIN: Final = ("http:", "ftp:")
"""Schemes without encryption."""
NOT_MODIFIED = frozenset({"304", "NotModified"})
GONE = frozenset({"NoSuchVersion", "InvalidRange", "416"})
"""Answers to a resumed read: the version, or the byte to go on from, is not there any more."""


@dataclass(frozen=True, slots=True)
class TransferByScheme:
    """Transfer."""

    adapters: Mapping[str, Transfer]

    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> AbstractContextManager[OpenedSource | None]:
        """By the adapter of the scheme; one without encryption only where the contract allows it."""
        if pull.source.startswith(PLAIN) and not pull.unencrypted:
            raise PortError("unencrypted-refused")
        return self.adapters[pull.source.partition(":")[0]].open(contract, pull, unless, begun, at)


@dataclass(frozen=True, slots=True)
class S3Source:
    """Objects of S3, of this account or another one; what is begun is read by its version and ETag.

    The rights of the function say which. Its own buckets, which it has rights for besides, are no sources.
    """

    client: Any
    own: frozenset[str]
    """The buckets of the stack."""

    @contextmanager
    def open(
        self, _contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """GetObject."""
        parts = urlsplit(pull.source)
        if parts.netloc in self.own:
            raise PortError("bucket-refused")
        request: dict[str, Any] = {"Bucket": parts.netloc, "Key": pull.source.partition(f"//{parts.netloc}/")[2]}
        if begun is not None:
            given = {"Range": at and f"bytes={at}-", "IfMatch": begun.etag, "VersionId": begun.version}
            request |= {name: value for name, value in given.items() if value}
        elif unless.etag:
            request["IfNoneMatch"] = unless.etag
        response = self._asked(request, resumes=begun is not None and bool(begun.etag))
        if response is None:
            yield None
            return
        version = response.get("VersionId", "null")
        stated = SourceIdentity(response["ETag"], "", "" if version == "null" else version)
        identity = begun if begun and begun.etag else stated
        body = response["Body"]

        def read(length: int) -> bytes:
            with port_errors():
                return read_exactly(body.read, length)

        try:
            yield OpenedSource(identity, at + response["ContentLength"], resumable=True, read=read)
        finally:
            body.close()

    def _asked(self, request: Mapping[str, Any], *, resumes: bool) -> Mapping[str, Any] | None:
        """The response; None: the source is not modified."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded with the first client

        try:
            with port_errors("source"):
                try:
                    response: Mapping[str, Any] = self.client.get_object(**request)
                except ClientError as error:
                    code = error.response.get("Error", {}).get("Code", "")
                    if code in NOT_MODIFIED:
                        return None
                    if resumes and code in GONE:
                        raise SourceChanged("source-changed") from None
                    raise
        except ConditionFailed:
            raise SourceChanged("source-changed") from None
        return response

"""Sources of pulls: the scheme of an address chooses the adapter."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lakegate.contracts.lake.pulls import SourceIdentity
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import ConditionFailed, PortError
from lakegate.functions.ports.transfers import OpenedSource, SourceChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from lakegate.contracts.model.policy import Pull
    from lakegate.functions.ports.transfers import Transfer

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
        """By the adapter of the scheme."""
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
            request |= {"Range": f"bytes={at}-", "IfMatch": begun.etag}
            request |= {"VersionId": begun.version} if begun.version else {}
        elif unless.etag:
            request["IfNoneMatch"] = unless.etag
        answer = self._asked(request, resumes=begun is not None)
        if answer is None:
            yield None
            return
        version = answer.get("VersionId", "null")
        identity = begun or SourceIdentity(answer["ETag"], "", "" if version == "null" else version)
        body = answer["Body"]

        def read(length: int) -> bytes:
            with port_errors():
                return read_whole(body.read, length)

        try:
            yield OpenedSource(identity, at + answer["ContentLength"], resumable=True, read=read)
        finally:
            body.close()

    def _asked(self, request: Mapping[str, Any], *, resumes: bool) -> Mapping[str, Any] | None:
        """The answer; None: the source is not modified."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - loaded with the first client

        try:
            with port_errors("source"):
                try:
                    answer: Mapping[str, Any] = self.client.get_object(**request)
                except ClientError as error:
                    code = error.response.get("Error", {}).get("Code", "")
                    if code in NOT_MODIFIED:
                        return None
                    if resumes and code in GONE:
                        raise SourceChanged("source-changed") from None
                    raise
        except ConditionFailed:
            raise SourceChanged("source-changed") from None
        return answer


def read_whole(read: Callable[[int], bytes], length: int) -> bytes:
    """So many bytes, of a stream that may answer with fewer; fewer only at its end."""
    found = bytearray()
    while len(found) < length and (more := read(length - len(found))):
        found += more
    return bytes(found)

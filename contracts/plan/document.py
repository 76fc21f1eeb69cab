"""The base of plans, requests and results: documents with a JSON Schema, each in `contracts/schemas`."""

from __future__ import annotations

import json
from typing import ClassVar, Self

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.serialization import canonical, decode, encode


class VersionedDocument:
    """A value that is a document with a JSON Schema."""

    __slots__ = ()
    schema: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """The document."""
        document: dict[str, object] = encode(self)
        return document

    def to_bytes(self) -> bytes:
        """The canonical bytes of the document, as it is stored; equal values have equal bytes."""
        return canonical(self)

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The value of a document; InputError if it does not match the schema, or has a name that no registry contains."""
        from lakegate.contracts.schemas import validate  # noqa: PLC0415 - who only writes documents starts without JSON Schema

        validate(cls.schema, document)
        try:
            return decode(cls, document)
        except ValueError:
            raise InputError(f"{cls.schema}.json names a metric, a format or a compression that is unknown") from None

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The value of stored bytes; InputError if they are not JSON, or do not match the schema."""
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError(f"{cls.schema}.json is not JSON") from None
        return cls.from_json(document)

    @classmethod
    def from_validated(cls, body: bytes) -> Self:
        """The value of bytes that `from_bytes` has read before, as their digest proves: they are not validated again."""
        return decode(cls, json.loads(body))

"""The base of plans, requests and results: documents with a JSON Schema."""

from __future__ import annotations

from typing import ClassVar, Self

from lakegate.contracts.plan.serialization import decode, encode
from lakegate.contracts.schemas import validate


class VersionedDocument:
    """A value that is a document with a JSON Schema."""

    __slots__ = ()
    schema: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """The document."""
        document: dict[str, object] = encode(self)
        return document

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The value of a document; InputError if it does not match the schema."""
        validate(cls.schema, document)
        return decode(cls, document)

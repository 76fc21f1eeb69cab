"""Where the data of a field comes from, as a contract declares it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transformation:
    """How a source becomes the field (DCS 1.1 `lineage`, as OpenLineage's facet `columnLineage`)."""

    type: str
    """`DIRECT` or `INDIRECT`."""
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


@dataclass(frozen=True, slots=True)
class FieldSource:
    """A field of another dataset that a field is made of."""

    namespace: str
    name: str
    """Of the dataset."""
    field: str
    transformations: tuple[Transformation, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldLineage:
    """All sources of one field."""

    field: str
    """Its path."""
    sources: tuple[FieldSource, ...]

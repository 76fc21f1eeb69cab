"""The body of an announcement: what is to be delivered, and what its producer states of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lakegate.base.json_codec import Bounds, Exact, Pattern, Permitted, omit_default
from lakegate.contract.file_formats import Compression, Format
from lakegate.contract.logical_types import LogicalType

_READ = tuple(each.value for each in Format if each not in {Format.UNKNOWN, Format.ANY_JSON})
ContractId = Annotated[str, Bounds(1, 1000)]
Text = Annotated[str, Bounds(None, 1000)]
ExtremeValue = Text | float | bool | None


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What the producer states of one column."""

    name: Text
    type: LogicalType | None = omit_default(None)
    """Of the values, by docs/types.md."""
    nulls: Exact | None = omit_default(None)
    """Rows without a value."""
    minimum: ExtremeValue = None
    """The smallest value, as the file has it; null where there is none."""
    maximum: ExtremeValue = None
    """The largest value, as the file has it; null where there is none."""


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What the producer states of the data. It can only refuse: what it does not prove is measured."""

    rows: Exact
    columns: Annotated[tuple[ColumnSummary, ...], Bounds(None, 2000)]
    format: Annotated[Format, Permitted(_READ)] | None = omit_default(None)
    compression: Compression | None = omit_default(None)
    size: Exact | None = omit_default(None)
    """Bytes."""
    shape: Annotated[tuple[Exact, ...], Bounds(2, 2)] | None = omit_default(None)
    """Rows and columns."""
    metadata: dict[str, Text] | None = omit_default(None)
    """Metadata of the producer; kept and shown."""
    examples: Annotated[tuple[dict[str, ExtremeValue], ...], Bounds(None, 20)] = omit_default(())
    """Rows of the data: values by column, as the file has them."""


@dataclass(frozen=True, slots=True)
class WantedDelivery:
    """What is to be delivered. With size and checksum, the answer has an upload URL."""

    contract: ContractId = omit_default("")
    """Required where the address has none."""
    dataset: Text = ""
    """Required if the contract has several."""
    prefix: Annotated[str, Bounds(None, 1024)] = ""
    """Of the route; required if the dataset has several."""
    name: Annotated[str, Pattern("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")] = omit_default("")
    """Of the file: the last part of its key."""
    size: Exact | None = omit_default(None)
    """Bytes; with `checksum` both or neither."""
    checksum: Annotated[str, Pattern("sha256:[A-Za-z0-9+/]{43}=")] = omit_default("")
    """SHA-256 of the file, in Base64."""
    summary: DataSummary | None = omit_default(None)


Announced = ContractId | WantedDelivery
"""The id of a contract alone, as DCM has it, or what is to be delivered to it."""

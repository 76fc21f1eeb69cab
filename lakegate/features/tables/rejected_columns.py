"""The columns of tables of rejected rows: the function that keeps tables has none of the engine's libraries but Arrow."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

REJECTED_SCHEMA: Final = pa.schema(
    [
        ("delivery", pa.string()),
        ("contract_version", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("part", pa.int64()),
        ("row", pa.int64()),
        ("reasons", pa.list_(pa.string())),
        ("record", pa.string()),
    ]
)
"""The columns of the table of rejected rows of every dataset (`lakegate.features.tables.table_description.REJECTED_COMMENTS`)."""

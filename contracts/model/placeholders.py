"""Placeholders of queries, and variables, in the texts of a document.

In a query `{table}` and `${table}` are placeholders, replaced when the query is compiled; any other `${NAME}` is a variable of
ODCS 3.2, replaced before the document is validated. A reserved name is always a placeholder.
"""

from __future__ import annotations

import re

PLACEHOLDERS = frozenset(
    ("model", "table", "object", "schema", "dataset", "project", "catalog", "database", "field", "column", "property")
)
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")

"""What stands for something else in the texts of a document: placeholders of queries, and variables.

In a query `{table}` and `${table}` are placeholders, filled in when the rule is measured; any other `${NAME}` is a variable of
ODCS 3.2, replaced before the document is judged. A reserved name is always a placeholder.
"""

from __future__ import annotations

import re

PLACEHOLDERS = frozenset(
    ("model", "table", "object", "schema", "dataset", "project", "catalog", "database", "field", "column", "property")
)
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")

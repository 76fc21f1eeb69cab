"""Values with parts of their own: the kind of what is said of them as a whole."""

from __future__ import annotations

NESTED_KIND = "nested"
"""That values are records, lists or maps; with an option of theirs, what this version only names."""

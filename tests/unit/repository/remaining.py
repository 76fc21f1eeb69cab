"""What does not yet keep the rules of test_architecture.py; what is no longer needed fails there, too, and is removed here."""

from __future__ import annotations

from typing import Final

IMPORTS: Final[set[tuple[str, str]]] = set()
"""Imports that the table of layers forbids: importer and imported file, by the feature or the layer that is imported."""

CIRCULAR: Final[set[str]] = set()
"""Files that import each other, directly or through others, by allowed imports."""

FULL_FOLDERS: Final[set[str]] = set()
"""Folders of more than twenty modules."""

NAMES: Final[set[str]] = set()
"""Names of more than one module."""

FEATURES: Final[set[str]] = set()
"""What does not work without a feature, or without all of them."""

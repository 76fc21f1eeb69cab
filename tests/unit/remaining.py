"""What does not yet keep the rules of test_architecture.py; what is no longer needed fails there, too, and is removed here."""

from __future__ import annotations

from typing import Final

IMPORTS: Final[set[tuple[str, str]]] = set()
"""Imports that the table of layers forbids: importer and imported file, by the feature or the layer that is imported."""

CIRCULAR: Final = {
    "lakegate/gate/datasets/delivery_history.py",
    "lakegate/gate/datasets/freshness_deadlines.py",
    "lakegate/gate/datasets/lifecycle.py",
    "lakegate/gate/datasets/pauses.py",
    "lakegate/gate/datasets/readers_manifest.py",
    "lakegate/gate/delivery/attempt_request.py",
    "lakegate/gate/delivery/delivery_objects.py",
    "lakegate/gate/delivery/small_file_batches.py",
    "lakegate/gate/dependencies.py",
    "lakegate/gate/ledger/commit.py",
    "lakegate/gate/ledger/stored_objects.py",
    "lakegate/gate/outbox.py",
    "lakegate/gate/registry/contract_versions.py",
    "lakegate/gate/registry/routes.py",
    "lakegate/gate/scheduled_tasks.py",
}
"""Files that import each other, directly or through others, by allowed imports."""

FULL_FOLDERS: Final[set[str]] = set()
"""Folders of more than twenty modules."""

NAMES: Final[set[str]] = set()
"""Names of more than one module."""

FEATURES: Final[set[str]] = set()
"""What does not work without a feature, or without all of them."""

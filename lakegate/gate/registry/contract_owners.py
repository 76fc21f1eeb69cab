"""Owners of contracts: each is known by ids of contracts, or by the beginning of ids and a star.

Such patterns are in policies of IAM (tenant.yaml), in the claim of a token and in `sharedWith` of a contract.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EVERY_CONTRACT: Final = ("*",)


def are_named(patterns: Iterable[str], contract: str) -> bool:
    """Whether patterns name a contract: by its id, or by a beginning of it with a star."""
    return any(
        contract.startswith(pattern[:-1]) if pattern.endswith("*") else contract == pattern for pattern in patterns
    )

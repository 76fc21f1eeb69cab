"""The entry of a delivery in the readers' manifest. Its JSON Schema is contracts/schemas/manifest.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.door.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.lake.block import Block
    from lakegate.functions.usecases.dependencies import Dependencies

FORMAT: Final = "lakegate-manifest/2"
"""Part of every manifest; one of another format is rebuilt from the whole ledger."""


def document(chain: str, height: int, deliveries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of a line, up to a height."""
    return {"format": FORMAT, "line": chain, "height": height, "deliveries": list(deliveries)}


def delivery(dependencies: Dependencies, block: Block) -> dict[str, Any]:
    """An accepted delivery: what was published, under which version, and how it is to be read."""
    accepted = [each for each in block.objects if each.key.startswith("accepted/")]
    rejected = None if block.rows is None else (block.rejected_rows or 0) * (len(accepted) < len(block.objects))
    return {
        "height": block.height,
        "workload": block.workload,
        "contract_version": block.contract_version,
        "verdict": block.verdict,
        "published_at": block.system_time,
        "event_time": list(block.event_time) if block.event_time else None,
        "rows": block.rows,
        "published_rows": None if block.rows is None or rejected is None else block.rows - rejected,
        "rejected_rows": rejected,
        **terms_of(dependencies.plan_at(block.plan, block.workload)).dialect,
        "objects": [{"key": o.key, "version": o.version, "size": o.size, "checksum": o.checksum} for o in accepted],
    }

"""What people decide about deliveries, as the commands of the same names carry it out."""

from __future__ import annotations

from lakegate.gate.carry_out_decision import decide
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.person_decisions import (
    WantedApproval,
    WantedCancellation,
    WantedDecline,
    WantedRecall,
    WantedReplay,
    WantedRestoration,
    WantedWaiver,
)


def replay(dependencies: Dependencies, workload: str, version: str = "") -> Steps[str]:
    return decide(dependencies, workload, WantedReplay("replay", version))


def approve(dependencies: Dependencies, workload: str) -> Steps[str]:
    return decide(dependencies, workload, WantedApproval("approve"))


def decline(dependencies: Dependencies, workload: str, reason: str) -> Steps[str]:
    return decide(dependencies, workload, WantedDecline("decline", reason))


def cancel(dependencies: Dependencies, workload: str, reason: str) -> Steps[str]:
    return decide(dependencies, workload, WantedCancellation("cancel", reason))


def waive(dependencies: Dependencies, workload: str, reason: str, expires: str) -> Steps[str]:
    return decide(dependencies, workload, WantedWaiver("waive", reason, expires))


def recall(dependencies: Dependencies, workload: str, reason: str) -> Steps[str]:
    return decide(dependencies, workload, WantedRecall("recall", reason))


def restore(dependencies: Dependencies, workload: str, reason: str) -> Steps[str]:
    return decide(dependencies, workload, WantedRestoration("restore", reason))

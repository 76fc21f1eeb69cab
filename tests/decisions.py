"""What people decide about deliveries, as the commands of the same names carry it out."""

from __future__ import annotations

from lakegate.gate.decisions import decide
from lakegate.gate.delivery.protocol import PersonTransition
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps


def replay(dependencies: Dependencies, workload: str, version: str = "") -> Steps[str]:
    return decide(dependencies, PersonTransition.REPLAY, workload, version=version)


def approve(dependencies: Dependencies, workload: str) -> Steps[str]:
    return decide(dependencies, PersonTransition.APPROVE, workload)


def decline(dependencies: Dependencies, workload: str, reason: str) -> Steps[str]:
    return decide(dependencies, PersonTransition.DECLINE, workload, reason=reason)


def waive(dependencies: Dependencies, workload: str, reason: str, expires: str) -> Steps[str]:
    return decide(dependencies, PersonTransition.WAIVE, workload, reason=reason, expires=expires)

"""Uploads a minute by profile and quota, on virtual time: `python -m tests.bench.throughput [MINUTES PATIENCE [NAME ...]]`.

Names choose rows: of profiles, quotas and loads. An hour with the default profile takes some ten minutes of a processor.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Final

from lakegate.features.deployment.parameter_values import DeploymentProfile
from lakegate.gate.delivery.protocol import State
from tests.simulation.contract import results_remembered
from tests.simulation.throughput import LOADS, QUOTAS, Simulation, account_of, measured

COLUMNS: Final = (
    "profile",
    "quotas",
    "uploads a minute",
    "judged a minute",
    "waits: median, longest",
    "events late by",
    "longest queue",
    "starts throttled",
    "dead letters",
    "FAILED",
    "lost",
)


def main(minutes: int, patience: int, *names: str) -> None:
    """Print a row for each profile, quotas and load whose names are among those that are given."""
    sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n")
    with results_remembered():
        for profile in DeploymentProfile:
            for quotas, account in QUOTAS.items():
                for uploads, load in LOADS.items():
                    if all(any(name in given for given in (profile, quotas, uploads)) for name in names):
                        done = measured(account_of(profile, account), load, minutes, patience)
                        sys.stdout.write(f"| {profile} | {quotas} | {uploads} | {row_of(done, minutes)} |\n")
                        sys.stdout.flush()


def row_of(done: Simulation, minutes: int) -> str:
    """What became of the uploads."""
    waits = sorted(at - done.uploaded[each] for each, at in done.committed.items()) or [0.0]
    within = sum(at <= minutes * 60 for at in done.committed.values())
    place, most = max(done.longest.items(), key=lambda each: each[1])
    failed, lost = done.states()[State.FAILED], len(done.lost())
    late = max(at - done.committed.get(each, at) for each, at in done.told.items()) if done.told else 0.0
    open_ = "" if done.is_over() else f" ({done.open()} open)"
    dead = done.landed.dead + done.moved.dead
    return " | ".join(
        (
            f"{within / minutes:.0f}",
            f"{_time(median(waits))}, {_time(waits[-1])}{open_}",
            _time(late),
            f"{most} ({place})",
            f"{done.jobs.throttled} of {done.jobs.calls}",
            f"{dead}",
            f"{failed}",
            f"{lost}",
        )
    )


def _time(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or ("60", "60")), *sys.argv[3:])

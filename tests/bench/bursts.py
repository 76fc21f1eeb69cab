"""Uploads a minute against the quotas of an account, on virtual time: `python -m tests.bench.bursts 1000 60 60`."""

from __future__ import annotations

import sys

from lakegate.gate.delivery.delivery_terms import BatchLimits
from tests.simulation.bursts import Account, Burst

BATCHES = BatchLimits(100, 64 << 20, 300)
PROFILES = {
    "Spark, a run for each": Account(),
    "Spark, BatchFiles=100": Account(batch=BATCHES),
    "Spark, BatchFiles=100, 64 vCPU": Account(batch=BATCHES, runs_at_once=16),
    "judge function, 10 at once": Account(batch=BATCHES, judge=True, invocations_at_once=10),
    "judge function, 1,000 at once": Account(batch=BATCHES, judge=True),
}


def main(a_minute: int, minutes: int, patience: int) -> None:
    """Print, for each profile, what became of so many uploads a minute, after the last of them and after more minutes."""
    sys.stdout.write(f"{a_minute} uploads a minute for {minutes} minutes, and {patience} more\n")
    header = (
        f"{'profile':32} {'judged':>7} {'of':>7} {'a minute':>8} {'most queued':>11} {'throttled':>9} {'failed':>6}"
    )
    sys.stdout.write(f"{header}\n")
    for name, account in PROFILES.items():
        burst = Burst(account)
        passed = 0
        for second in range((minutes + patience) * 60):
            if second >= minutes * 60 and not burst.open():
                break
            passed = second + 1
            if second < minutes * 60:
                burst.upload(a_minute * (second + 1) // 60 - a_minute * second // 60)
            burst.second()
        count, judged = len(burst.env.uploads), len(burst.env.uploads) - burst.open()
        jobs = burst.jobs
        row = (
            f"{name:32} {judged:>7} {count:>7} {judged / passed * 60:>8.0f} {jobs.most_waiting:>11} {jobs.throttled:>9}"
        )
        sys.stdout.write(f"{row} {len(burst.failures):>6}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("1000", "60", "60")))

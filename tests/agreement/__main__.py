"""`python -m tests.agreement 300 [--seed 7]`: the native engine and Spark judge the cases of as many seeds, from a printed one.

Prints every case to which the two answer differently, with the command that runs it alone; that one also prints the delivery and
a contract without the parts that the difference does not need. Ends with 1 where there is such a case.

`--against great-expectations` compares our reading of Great Expectations with its own answers instead, in its own environment.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from infra.setup.environments import install
from lakegate.spark.local_spark import use_local_spark
from tests.agreement.cases import case_of
from tests.agreement.great_expectations.cases import EXPECTATIONS, cases
from tests.agreement.great_expectations.compare import ENVIRONMENT, differences
from tests.agreement.run import disagreements, smaller

PROGRESS = 100
"""Cases between two lines of progress."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.agreement", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--against", choices=sorted(AGAINST), default="spark")
    given = parser.parse_args(arguments)
    report(f"seed {given.seed}")
    return 1 if AGAINST[given.against](given.seed, given.count) else 0


def report(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for a person


def against_spark(seed: int, count: int) -> int:
    """The number of cases to which the native engine and Spark have different answers."""
    with tempfile.TemporaryDirectory(prefix="lakegate-agreement-") as folder:
        use_local_spark(Path(folder), size=0, memory="1g")
        from lakegate.spark.spark_job import validate  # noqa: PLC0415 - likewise
        from lakegate.spark.spark_session import start  # noqa: PLC0415 - reads the settings made above

        session, number = start(), 0
        for first in range(seed, seed + count, PROGRESS):
            last = min(first + PROGRESS, seed + count)
            for each in disagreements(map(case_of, range(first, last)), validate, session):
                number += 1
                report(str(each))
                if count == 1:
                    found = smaller(each, validate)
                    report("\n".join([found.case.text.decode(), *map(repr, found.case.objects), *found.lines]))
            if count > PROGRESS:
                report(f"{last - seed:,} cases, {number} disagreements")
        session.stop()
    report(f"{count:,} cases, {number} disagreements")
    return number


def against_great_expectations(seed: int, count: int) -> int:
    """The number of cases to which Great Expectations has another answer."""
    install(ENVIRONMENT)
    found = list(differences(cases(seed, count)))
    for each in found:
        report(f"{each.case}\n  ours: {each.ours}\n  theirs: {each.theirs}")
    report(f"{count:,} cases of {len(EXPECTATIONS)} expectations, {len(found)} disagreements")
    return len(found)


AGAINST: dict[str, Callable[[int, int], int]] = {
    "spark": against_spark,
    "great-expectations": against_great_expectations,
}

if __name__ == "__main__":
    sys.exit(main())

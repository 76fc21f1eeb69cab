"""`python -m tests.agreement 4000 [--seed 7]`: Great Expectations and we judge as many generated cases, from one printed seed.

Prints how many, and every case that the two answer otherwise. Ends with 1 where there is one.
"""

from __future__ import annotations

import argparse
import random
import sys

from infra.setup.environments import install
from tests.agreement.cases import ASKED, cases
from tests.agreement.compare import ENVIRONMENT, differences


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    said = parser.parse_args(arguments)
    install(ENVIRONMENT)
    print(f"seed {said.seed}", flush=True)  # noqa: T201 - a program for a person
    found = list(differences(cases(said.seed, said.count)))
    for each in found:
        print(f"{each.case}\n  ours: {each.ours}\n  theirs: {each.theirs}")  # noqa: T201 - likewise
    print(f"{said.count:,} cases of {len(ASKED)} expectations, {len(found)} of them answered otherwise")  # noqa: T201 - likewise
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

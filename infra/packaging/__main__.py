"""`python -m infra.packaging [functions] [judge] [pull] [table] [job]`: make what is deployed, below build/."""

from __future__ import annotations

import sys

from infra.packaging.bundles import bundle_functions, bundle_job, bundle_judge, bundle_pull, bundle_table
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS

MAKERS = {
    "functions": bundle_functions,
    "judge": bundle_judge,
    "pull": bundle_pull,
    "table": bundle_table,
    "job": bundle_job,
}


def main(names: list[str]) -> int:
    """Make what is named, or everything; the exit code: 0, or 2 after one sentence on standard error."""
    unknown = [name for name in names if name not in MAKERS]
    if unknown:
        print(f"There is no {unknown[0]} to be packaged: {', '.join(MAKERS)}.", file=sys.stderr)
        return 2
    for name in names or MAKERS:
        try:
            made = MAKERS[name](ROOT, TOOLS, ROOT / "build")
        except SetUpError as error:
            print(error, file=sys.stderr)
            return 2
        size = sum(path.stat().st_size for path in [made, *made.rglob("*")] if path.is_file())
        print(f"{name}: {made.relative_to(ROOT)} ({size / 1e6:.1f} MB)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

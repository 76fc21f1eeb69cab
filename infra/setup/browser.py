"""The Chromium that tests look at pages with: that of the machine, else that of the pinned Playwright, in `.tools/browsers`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import TOOLS

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def machines_own() -> str | None:
    """The program of the machine's Chromium; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def environment(tools: Path = TOOLS) -> dict[str, str]:
    """The environment variables with which Playwright finds its own Chromium."""
    return {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(tools.resolve() / "browsers")}


def main(tools: Path = TOOLS) -> int:
    """Supply a Chromium where the machine has none; the exit code: 0, or 2 after one sentence on standard error."""
    if machines_own() is not None:
        return 0
    try:
        command = [str(program("browser/playwright", tools)), "install", "--only-shell", "chromium"]
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 2
    if subprocess.run(command, env=environment(tools), check=False).returncode:  # noqa: S603 - our own environment
        print("Chromium could not be installed: fix the network, or install the package chromium", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

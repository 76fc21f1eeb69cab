"""Tools that pin libraries their own way, each in a Python environment of its own: `.tools/<name>`, by `<name>.lock`.

A copy of the lock file is written into an environment last of all: without it, or with another one, the environment is
made again. It cannot be made aside and moved, because its programs carry the address of its interpreter.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import TOOLS

LOCKS = Path(__file__).parent
MARK = "lock"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
"""The project's own pip, which is pinned; environments have none."""
EXACTLY = ("install", "--no-compile", "--no-deps", "--require-hashes", "--requirement")
"""A program compiles what it imports, once; compiling all of it takes longer than all the rest."""


def ready(name: str, tools: Path = TOOLS, locks: Path = LOCKS) -> bool:
    """Whether an environment was made from its lock file as it is now."""
    mark = tools / name / MARK
    return mark.is_file() and mark.read_bytes() == (locks / f"{name}.lock").read_bytes()


def install(name: str, tools: Path = TOOLS, locks: Path = LOCKS) -> Path:
    """The folder of an environment, made if it does not stand; SetUpError if that fails."""
    home = tools.resolve() / name
    if not ready(name, tools, locks):
        shutil.rmtree(home, ignore_errors=True)
        lock, log = locks / f"{name}.lock", tools / f"{name}.log"
        tools.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", "--without-pip", str(home)], name, log)
        _run([*PIP, "--python", str(home / "bin/python"), *EXACTLY, str(lock)], name, log)
        log.unlink()
        (home / MARK).write_bytes(lock.read_bytes())
    return home


def program(name: str, tools: Path = TOOLS) -> Path:
    """A program of an environment, `sam/cfn-lint` for example; SetUpError where it is missing."""
    environment, _, binary = name.partition("/")
    path = tools / environment / "bin" / binary
    if not path.is_file():
        raise SetUpError(f"{binary} is missing: run `make tools`.")
    return path


def main(names: list[str], tools: Path = TOOLS, locks: Path = LOCKS) -> int:
    """Supply what is missing; the exit code: 0, or 2 after one sentence on standard error."""
    for name in names:
        if not ready(name, tools, locks):
            print(f"{name}: installing it into .tools/{name}", file=sys.stderr, flush=True)
        try:
            home = install(name, tools, locks)
        except SetUpError as error:
            print(error, file=sys.stderr)
            return 2
        print(f"{name}: {home}", file=sys.stderr)
    return 0


def _run(command: list[str], name: str, log: Path) -> None:
    with log.open("ab") as output:
        ended = subprocess.run(command, stdout=output, stderr=output, check=False)  # noqa: S603 - our own interpreter
    if ended.returncode:
        advice = "fix the network and run `make setup` again"
        raise SetUpError(f"The tool {name} could not be installed (see {log}): {advice}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

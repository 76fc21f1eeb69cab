"""`python meter.py REPORT COMMAND...`: runs a command and writes what its whole process tree used into REPORT, as JSON.

* `seconds`: from the start of the command to the end of its first process: what a person waits for.
* `cpu`: processor seconds, user and system, of every process of the tree, from the kernel's own account (`wait4`). This process
  is the subreaper of the tree, so a JVM or a Python worker that outlives its parent is waited for here and is counted as well.
* `peak`: bytes of memory. Every 0.1 s the resident sets of all processes of the tree are added up. The largest sum counts, or the
  largest resident set that the kernel reports for one process. Pages that processes share are counted once for each of them.
* `code`: the exit code of the command.

It imports nothing but the standard library, and needs Linux.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 30.0
"""Seconds that processes may outlive the command."""
PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


def run(command: list[str]) -> dict[str, float | int]:
    """Run the command to its end, and wait for every process that it started.

    Raises OSError where it cannot be started, and TimeoutError where a process outlives it by PATIENCE_SECONDS.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this system has no subreapers")
    began = time.perf_counter()
    first = subprocess.Popen(command)  # noqa: S603 - the bench's own command
    peak = _watched(first.pid)
    seconds, deadline = time.perf_counter() - began, time.monotonic() + PATIENCE_SECONDS
    cpu, largest, codes = 0.0, 0, dict[int, int]()
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            cpu, largest = cpu + used.ru_utime + used.ru_stime, max(largest, used.ru_maxrss * 1024)
            codes[pid] = os.waitstatus_to_exitcode(status)
        elif time.monotonic() > deadline:
            raise TimeoutError(f"processes of {command[0]} run {PATIENCE_SECONDS:.0f} s after its end")
        else:
            time.sleep(PAUSE_SECONDS / 10)
    first.returncode = codes[first.pid]
    return {"seconds": seconds, "cpu": cpu, "peak": max(peak, largest), "code": first.returncode}


def _watched(pid: int) -> int:
    """The largest sum of resident sets, in bytes, until the process ends; it is not waited for."""
    ended, peak = select.poll(), 0
    descriptor = os.pidfd_open(pid)
    ended.register(descriptor, select.POLLIN)
    while not ended.poll(PAUSE_SECONDS * 1000):
        peak = max(peak, _resident(os.getpid()))
    os.close(descriptor)
    return peak


def _resident(root: int) -> int:
    """The resident sets of all descendants of a process, in bytes; of those that end meanwhile, nothing."""
    parents, sizes = dict[int, int](), dict[int, int]()
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(folder.name)], sizes[int(folder.name)] = int(fields[1]), int(fields[21]) * PAGE
    return sum(size for pid, size in sizes.items() if _descends(pid, root, parents))


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == root:
            return True
    return False


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(run(sys.argv[2:])))

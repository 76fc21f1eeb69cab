"""A fault of the machine fails the attempt and never becomes a verdict: the real job, in whose workers something happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.spark.worker_daemon import MODULE
from tests.deliveries.delivery import plan_of, rule
from tests.spark.jobs import ROOT, job, staged

pytestmark = pytest.mark.spark
PLAN = plan_of({"id": "integer"}, rule("unique", "id"))
CONTENT = b"id\n1\n2\n"
WORKERS = MODULE
"""The module that Spark forks its workers from; the fault is planted in no other process."""
PLANTED = """
import os, resource, signal, sys
from pathlib import Path

if {workers!r} in sys.orig_argv:
    from lakegate.engine.measure.share_evaluation import Evaluation

    def jvm():
        return int(Path(f"/proc/{{os.getppid()}}/stat").read_text().rpartition(")")[2].split()[1])

    def fault(*_):
        Path({mark!r}).touch()
        {fault}

    Evaluation.share = fault
"""
FAULTS = {
    "exit": "os._exit(0)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "crash": "os.kill(os.getpid(), signal.SIGSEGV)",
    "memory": "resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20)); bytearray(1 << 28)",
    "jvm": "os.kill(jvm(), signal.SIGKILL)",
}
NIGHTLY = {"crash", "killed"}
"""To Spark both are the end of a worker without a word, which `exit` is too."""


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=name, marks=[pytest.mark.full] * (name in NIGHTLY)) for name, fault in FAULTS.items()],
)
def test_a_fault_fails_the_attempt(fault: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """A worker that ends, crashes, is killed or has no memory left, and a JVM that is killed: no exit code 0, no result."""
    mark = tmp_path / "happened"
    (tmp_path / "sitecustomize.py").write_text(PLANTED.format(workers=WORKERS, mark=str(mark), fault=fault))

    answer = job(environment | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}, "--request", staged(tmp_path, PLAN, CONTENT))

    assert mark.exists(), "the fault did not happen"
    assert answer.returncode != 0
    assert list(tmp_path.glob("out/*")) == []

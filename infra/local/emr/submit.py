"""A `spark-submit` for each run: slower than the resident driver, and as separate as on AWS.

Run as a program, this module makes Spark's environment and turns into spark-submit: same process, same group.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from infra.local.emr.executor import Processes, added_jars
from infra.local.emr.spark_env import submit_arguments
from lakegate.spark.local_spark import jars, java_home

if TYPE_CHECKING:
    from infra.local.emr.executor import JobAttempt, Surroundings


class Submitted(Processes):
    """Executor: `spark-submit` with the settings of the run."""

    def __init__(self, surroundings: Surroundings, seats: int, memory: str) -> None:
        super().__init__(surroundings, seats)
        self._memory = memory

    def start(self) -> None:
        """See `Executor`; SetUpError where Java or a jar is missing."""
        java_home()
        jars()

    def command(self, job: JobAttempt) -> list[str]:
        """This module, with the command to become as its argument."""
        command = {
            "folder": str(job.folder / "spark"),
            "memory": self._memory,
            "settings": {**job.parameters.fixed, **job.parameters.live},
            "jars": added_jars(job),
            "program": [*job.parameters.options, *_files(job), str(job.entry), *job.arguments],
        }
        return [sys.executable, "-m", "infra.local.emr.submit", json.dumps(command)]


def _files(job: JobAttempt) -> list[str]:
    return ["--py-files", ",".join(map(str, job.py_files))] if job.py_files else []


def become(command: str) -> None:
    """Replace this process by the spark-submit that `command` describes."""
    document = json.loads(command)
    arguments = submit_arguments(Path(document["folder"]), document["memory"], document["settings"], document["jars"])
    program = str(Path(sys.executable).with_name("spark-submit"))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.execv(program, [program, *arguments, *document["program"]])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    become(sys.argv[1])

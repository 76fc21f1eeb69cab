"""The gate's own job in the command's process, with Spark and Deequ in a JVM beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakegate.base.errors import SetUpError
from lakegate.job.job_storage import Addresses, PinnedObject
from lakegate.local_check.check_data import STEPS, ShowProgress
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from lakegate.spark.local_spark import LOG, use_local_spark

if TYPE_CHECKING:
    from lakegate.engine.attempt import KeepRejected


def measure(  # noqa: PLR0913, PLR0917 - as `lakegate.local_check.check_data` calls it
    request: Request,
    plan: Plan,
    folder: Path,
    samples: int,
    pins: Mapping[str, PinnedObject],
    show: ShowProgress,
    keep_rejected: KeepRejected | None = None,
) -> Result:
    """See `lakegate.local_check.check_data.measure`."""
    use_local_spark(folder, sum(part.size for part in request.parts))
    try:
        with show("starting Spark", None) as progress, _temporary_files_in(folder):
            from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's imports, under the spinner

            with ThreadPoolExecutor(1) as beside:
                return beside.submit(
                    validate,
                    request,
                    plan,
                    lambda step: progress.during(STEPS[step]),
                    samples,
                    Addresses(pins),
                    keep_rejected,
                ).result()
    except (Py4JError, PySparkException) as error:
        kept = shutil.copy(folder / LOG, folder.with_suffix(".log"))
        raise SetUpError(f"Spark could not finish ({type(error).__name__}); its log is {kept}") from None


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Of this process, and by TMPDIR of Spark's Python workers: a worker that is killed removes nothing itself."""
    before = os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None
        del os.environ["TMPDIR"]
        if before is not None:
            os.environ["TMPDIR"] = before

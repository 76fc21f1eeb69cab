"""The judge's engine on this machine: a request and a plan in, a result out."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cli import terminal
from contracts.errors import SetUpError

if TYPE_CHECKING:
    from contracts.plan import Plan
    from contracts.request import Request
    from contracts.result import Result

STEPS = {
    "start": "starting Spark",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks with Deequ",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
}


def measure(request: Request, plan: Plan, folder: Path, samples: int) -> Result:
    """Measure a delivery with Spark, which writes only below `folder`; so many failing rows are named of each check at most.

    SetUpError where Spark cannot finish.
    """
    from infra.local.spark import LOG, use_local_spark  # noqa: PLC0415 - start-up is paid by every command

    use_local_spark(folder, sum(part.size for part in request.parts))
    try:
        with terminal.errors().status("starting Spark") as status:
            from spark_jobs.validate import validate  # noqa: PLC0415 - Spark's imports, under the spinner

            return validate(request, plan, lambda step: status.update(STEPS[step]))
    except _spark_failures() as error:
        kept = shutil.copy(folder / LOG, Path(tempfile.gettempdir()) / f"{folder.name}.log")
        raise SetUpError(f"Spark could not finish ({type(error).__name__}); its log is {kept}") from None


def _spark_failures() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - start-up is paid by every command
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    return Py4JError, PySparkException

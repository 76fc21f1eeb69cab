"""The native engine in the command's own process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from lakegate.base.errors import InputError, SetUpError
from lakegate.engine import native_backend
from lakegate.job.job_storage import Addresses, PinnedObject, keep
from lakegate.local_check.check_data import STEPS, ShowProgress
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result

if TYPE_CHECKING:
    from lakegate.engine.attempt import KeepRejected

_INTERRUPTED = "Query interrupted"
"""DuckDB's message after Ctrl-C while a query runs."""


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
    size = sum(part.size for part in request.parts)
    try:
        with _without_pandas(), show(STEPS["start"], size) as read:
            watch = lambda step: read.during(STEPS[step])  # noqa: E731 - of this bar
            store = Addresses(pins)
            return native_backend.measure(request, plan, store, folder, watch, samples, read, keep, keep_rejected)
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from None
    except OSError as error:
        raise InputError(
            f"the files cannot be read to their end ({error.strerror or error}): repeat the command"
        ) from None
    except (duckdb.Error, MemoryError) as error:
        raise SetUpError(f"the engine could not finish ({type(error).__name__}): free memory and disk space") from None


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Let Arrow look for pandas in vain: where it is installed, its import would take longer than a small file does."""
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


class _Absent(MetaPathFinder):
    """Finds nothing in the place of pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """See `MetaPathFinder`."""
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)

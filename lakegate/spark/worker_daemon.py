"""The parent of Spark's Python workers: it imports the engine once, and each worker is a fork of it.

Without it each worker imports the engine and PySpark, which an executor has as an archive of sources, for most of a second.
"""

from __future__ import annotations

import gc
from importlib import import_module
from zipimport import zipimporter

from lakegate.base.extension_points import load_extensions

MODULE = "lakegate.spark.worker_daemon"
USED = (
    "lakegate.engine.measure.share_evaluation",
    "lakegate.spark.spark_tasks",
    "lakegate.spark.spark_row_split",
)
"""The modules that tasks use, whatever they read."""


def main() -> None:
    """Import what tasks use, then start workers until Spark ends."""
    for name in USED:
        import_module(name)
    list(load_extensions("row writers"))
    import_module("pyspark.sql.pandas.utils").require_minimum_pandas_version()  # as PySpark does before a task of Arrow
    _trust_archives()
    gc.freeze()  # a worker collects garbage after each task: it need not look at modules
    try:
        import_module("pyspark.daemon").manager()
    finally:
        gc.unfreeze()  # else libraries print at the end that they leak


def _trust_archives() -> None:
    """Do not read the lists of Spark's archives again: they do not change while it runs.

    A worker invalidates the caches of all importers at the start of each task. Python 3.11 then reads the list of `pyspark.zip`
    once for each package in it, which takes a tenth of a second.
    """
    zipimporter.invalidate_caches = lambda _: None  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    main()

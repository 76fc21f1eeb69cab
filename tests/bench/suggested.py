"""The constraints that Deequ suggests for files, by real Spark: a JSON object on standard output, by name of the file.

Text is read as Spark reads it best: with a header and inferred types. Deequ cannot take every name of a column, so characters
other than letters, digits and `_` are replaced. A file that Spark or Deequ cannot read has the name of the error instead.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lakegate.spark.local_spark import use_local_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main(arguments: list[str]) -> None:
    """Suggest for each file, one after the other in one session."""
    with TemporaryDirectory(prefix="lakegate-bench-") as folder:
        use_local_spark(Path(folder), 0)
        from lakegate.spark.spark_session import start  # noqa: PLC0415 - Spark reads its settings when it is imported

        session = start()
        found = {each.rpartition("/")[2]: _suggested(session, each) for each in arguments}
        session.stop()
    sys.stdout.write(json.dumps(found))


def _suggested(session: SparkSession, path: str) -> dict[str, Any]:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - likewise
    from pydeequ.suggestions import DEFAULT, ConstraintSuggestionRunner  # noqa: PLC0415 - likewise
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    began = time.monotonic()
    try:
        frame = _read(session, path)
        frame = frame.toDF(*(re.sub(r"\W", "_", each) for each in frame.columns))
        answer = ConstraintSuggestionRunner(session).onData(frame).addConstraintRule(DEFAULT()).run()
    except (Py4JJavaError, PySparkException) as error:
        return {"error": type(error).__name__}
    kinds = Counter(each["suggesting_rule"].partition("(")[0] for each in answer["constraint_suggestions"])
    return {"columns": len(frame.columns), "kinds": kinds, "seconds": time.monotonic() - began}


def _read(session: SparkSession, path: str) -> DataFrame:
    plain = path.removesuffix(".gz")
    if plain.endswith(".csv"):
        return session.read.csv(path, header=True, inferSchema=True)
    if plain.endswith(".json"):
        return session.read.json(path, multiLine=True)
    return session.read.format(plain.rpartition(".")[2]).load(path)


if __name__ == "__main__":
    main(sys.argv[1:])

"""How Spark starts on this machine, with the local AWS as its S3."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Final

from lakegate.spark.local_spark import use_local_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

SUBMIT: Final = "PYSPARK_SUBMIT_ARGS"


SHELL: Final = "pyspark-shell"


def submit_arguments(folder: Path, memory: str, settings: Mapping[str, str], jars: Sequence[str]) -> list[str]:
    """Make this process ready for a local Spark that writes below `folder`, and return spark-submit's arguments for it.

    `s3://` addresses reach the S3 at `AWS_ENDPOINT_URL` with the credentials of the environment.
    """
    folder.mkdir(parents=True, exist_ok=True)
    use_local_spark(folder, size=0, memory=memory)
    own = shlex.split(os.environ.pop(SUBMIT))
    own.remove(SHELL)
    added = {**_s3a(os.environ["AWS_ENDPOINT_URL"], folder), **settings}
    if jars:
        added["spark.jars"] = ",".join(jars)
    return [*own, *_as_options(added)]


def _s3a(endpoint: str, folder: Path) -> dict[str, str]:
    settings = {
        "endpoint": endpoint,
        "endpoint.region": os.environ["AWS_REGION"],
        "path.style.access": "true",
        "buffer.dir": str(folder / "s3a"),
        "aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


def _as_options(settings: Mapping[str, str]) -> Iterator[str]:
    for name, value in settings.items():
        yield from ("--conf", f"{name}={value}")

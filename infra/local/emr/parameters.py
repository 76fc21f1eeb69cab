"""What StartJobRun refuses, and what `sparkSubmitParameters` ask for, sorted by what can be done about it on one machine."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from infra.local.emr.emr_errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Members = dict[str, Any]
"""Of a request or a response, as boto3 has them."""


_DRIVER: Final = "spark.emr-serverless.driverEnv."


_OF_AWS: Final = (
    "spark.emr-serverless.",
    "spark.executor",
    "spark.dynamicAllocation.",
    "spark.driver.cores",
    "spark.driver.memory",
    "spark.driver.disk",
    "spark.driver.extraJavaOptions",
    "spark.archives",
    "spark.app.name",
)
"""Settings of a size or place that one machine does not have: passed over."""


_INTERPRETER: Final = frozenset({"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"})
"""These name an interpreter inside an archive; here it is the service's own."""


_STATIC: Final = ("spark.sql.extensions", "spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
"""Settings of Spark SQL that a running session cannot change."""


_FLAGS: Final = frozenset({"--verbose", "-v", "--supervise"})


_LISTS: Final[Mapping[str, str]] = {
    "--py-files": "spark.submit.pyFiles",
    "--jars": "spark.jars",
    "--archives": "spark.archives",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
}
"""Options that are another name of a setting."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a run: settings that a live session takes, those that need a session of their own, files, environment."""

    live: Mapping[str, str]
    fixed: Mapping[str, str]
    environment: Mapping[str, str]
    py_files: tuple[str, ...]
    jars: tuple[str, ...]
    options: tuple[str, ...]
    """What is left, as spark-submit takes it."""


def read_parameters(text: str) -> Parameters:
    """Sort the parameters of a run; Invalid where spark-submit would not understand them."""
    settings, options = _words(text)
    files, jars = (_split(settings.pop(name, "")) for name in ("spark.submit.pyFiles", "spark.jars"))
    environment = {
        name.removeprefix(_DRIVER): settings[name]
        for name in settings
        if name.startswith(_DRIVER) and name.removeprefix(_DRIVER) not in _INTERPRETER
    }
    here = {name: value for name, value in settings.items() if not name.startswith(_OF_AWS)}
    live = {name: value for name, value in here.items() if name.startswith("spark.sql.") and name not in _STATIC}
    fixed = {name: value for name, value in here.items() if name not in live}
    return Parameters(live, fixed, environment, files, jars, options)


def _words(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    settings: dict[str, str] = {}
    others: list[str] = []
    for option, value in _pairs(text):
        if option in {"--conf", "-c"}:
            name, equals, setting = value.partition("=")
            if not equals:
                raise Invalid("sparkSubmitParameters: --conf takes name=value")
            settings[name.strip()] = setting
        elif option in _LISTS:
            settings[_LISTS[option]] = value
        else:
            others += [option] if option in _FLAGS else [option, value]
    return settings, tuple(others)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = iter(shlex.split(text))
    except ValueError as error:
        raise Invalid(f"sparkSubmitParameters: {error}") from None
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("-"):
            raise Invalid("sparkSubmitParameters hold options only: the program is the entry point")
        if equals or option in _FLAGS:
            yield option, value
            continue
        following = next(words, None)
        if following is None:
            raise Invalid(f"sparkSubmitParameters: {option} lacks its value")
        yield option, following


def _split(text: str) -> tuple[str, ...]:
    return tuple(each for each in text.split(",") if each)


# ---- Limits of StartJobRun that the service model of AWS does not contain ------------------------------------------


MIN_MINUTES: Final = 5


MAX_ATTEMPTS: Final = 10


def refuse_unsupported(request: Members) -> None:
    """Invalid for a request that AWS refuses beyond its model, or that this service does not support."""
    if request.get("mode", "BATCH") != "BATCH":
        raise Invalid("Value at 'mode': only BATCH is played by the local EMR Serverless")
    if "sparkSubmit" not in request.get("jobDriver", {}):
        raise Invalid("Value at 'jobDriver': only sparkSubmit is played by the local EMR Serverless")
    if request.get("executionTimeoutMinutes", MIN_MINUTES) < MIN_MINUTES:
        raise Invalid(f"RunTimeout must be at least {MIN_MINUTES} minutes")
    if request.get("retryPolicy", {}).get("maxAttempts", 1) > MAX_ATTEMPTS:
        raise Invalid(f"Value at 'retryPolicy.maxAttempts': at most {MAX_ATTEMPTS}")
    _refuse_policy(request.get("executionIamPolicy", {}).get("policy"))
    read_parameters(request["jobDriver"]["sparkSubmit"].get("sparkSubmitParameters", ""))


def _refuse_policy(text: str | None) -> None:
    try:
        document = json.loads(text) if text is not None else {"Statement": []}
    except ValueError:
        document = None
    if not isinstance(document, dict) or "Statement" not in document:
        raise Invalid("Value at 'executionIamPolicy.policy': not a policy document")

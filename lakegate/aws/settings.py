"""A function's environment variables: one table, read once at cold start, all mistakes reported at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lakegate.admission.ignored_keys import IGNORED
from lakegate.base.errors import SetUpError
from lakegate.plan.billed_cost import FORM

PREFIX: Final = "LAKEGATE_"
_BUCKET: Final = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
_KEY: Final = r"(arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+)?"
_TABLE: Final = r"[A-Za-z0-9_.-]{3,255}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The stack, as its functions see it. Each field is the variable of its name, in capitals, behind `LAKEGATE_`."""

    stack: str
    """Name of the stack: a dimension of its metrics."""
    account: str
    """Whom both buckets must belong to."""
    landing: str
    landing_prefix: str
    """The prefix of keys that are delivered; empty: every key."""
    adopts: str
    """Whether what landed before the stack was made is taken in: `yes` or `no`."""
    lake: str
    registry_table: str
    workloads_table: str
    ledger_table: str
    application: str
    """Of EMR Serverless."""
    job_role: str
    entry_point: str
    """The address of `validate.py`."""
    job_parameters: str
    """`--conf` and `--jars` of spark-submit; EMR Serverless refuses an empty text."""
    job_minutes: int
    """The job's own time limit."""
    max_vcpu: int
    """Of the application, for all runs together."""
    max_runs: int
    """Runs of the application at once."""
    judge: str
    """Name of the judge function; empty where small deliveries are judged by Spark as all others are."""
    small_file_bytes: int
    """Below this size a delivery is given to the judge function first."""
    batch_files: int
    """Deliveries that one job run judges, at most, where the contract does not say; 1: each has its own."""
    batch_bytes: int
    batch_seconds: int
    workload_days: int
    """Days after intake for which the row of a finished delivery stays in the table; 0: for ever."""
    prices: str
    """A table of prices (`lakegate/plan/billed_cost.py`); empty means the one of this version."""
    landed_queue: str
    """URL of the queue of intake; empty for those who never send to it."""
    bus: str
    """The event bus that messages are put on."""
    unrouted: str
    """The treatment of keys that no route covers: `quarantine` or `ignore`."""
    approval: str
    """Whether a contract version needs a second person: `yes` or `no`."""
    signing_key: str
    """ARN of the KMS key that signs the ledger; empty where nothing is signed."""
    replaced_signing_key: str
    """The one that it replaces."""
    anchors: str
    """The bucket of anchors; empty for those who write none."""
    anchor_days: int
    """For how many days nobody can delete one."""
    pull_hosts: str
    """Hosts, separated by commas, that sources may be fetched from over HTTPS; empty: none."""
    pull_secrets: str
    """The beginning of the names of secrets of sources."""
    validator_hosts: str
    """Hosts, separated by commas, of validators; empty: none."""
    validator_secrets: str
    """The beginning of the names of secrets of validators."""
    table_database: str
    """The database of Glue that has the tables of datasets; empty: none are kept."""
    ignored: str
    """Patterns, separated by commas, of names of keys that are not deliveries."""
    missing_fields: str
    """The treatment of files that lack declared fields, of contracts that set none: `allow`, `warn` or `forbid`."""


PATTERNS: Final[Mapping[str, str]] = {
    "stack": r"[A-Za-z][A-Za-z0-9-]{0,127}",
    "account": r"\d{12}",
    "landing": _BUCKET,
    "landing_prefix": r"([^/\s*?$\x00-\x1f][^\s*?$]{0,199}/)?",
    "adopts": "yes|no",
    "lake": _BUCKET,
    "registry_table": _TABLE,
    "workloads_table": _TABLE,
    "ledger_table": _TABLE,
    "application": r"[0-9a-z]{1,64}",
    "job_role": r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+",
    "entry_point": r"s3://\S+\.py",
    "job_parameters": r"[^\r\n]+",
    "job_minutes": r"[1-9]\d{0,4}",
    "max_vcpu": r"[1-9]\d{0,5}",
    "max_runs": r"[1-9]\d{0,3}",
    "judge": r"[\w-]{0,64}",
    "small_file_bytes": r"\d{1,12}",
    "batch_files": r"[1-9]\d{0,2}",
    "batch_bytes": r"[1-9]\d{0,9}",
    "batch_seconds": r"[1-9]\d{0,3}",
    "workload_days": r"\d{1,5}",
    "prices": f"({FORM})?",
    "landed_queue": r"(https?://[\w.:/-]{1,1000})?",
    "bus": r"[\w./:-]{1,1600}",
    "unrouted": "quarantine|ignore",
    "approval": "yes|no",
    "signing_key": _KEY,
    "replaced_signing_key": _KEY,
    "anchors": f"({_BUCKET})?",
    "anchor_days": r"\d{1,5}",
    "pull_hosts": r"([A-Za-z0-9.-]{1,253}(,(?!$)|$))*",
    "pull_secrets": r"[\w-]{0,64}",
    "validator_hosts": r"([A-Za-z0-9.-]{1,253}(,(?!$)|$))*",
    "validator_secrets": r"[\w-]{0,64}",
    "table_database": r"[a-z0-9_]{0,255}",
    "ignored": r"[^,\s/]+(,[^,\s/]+)*",
    "missing_fields": "allow|warn|forbid",
}

NUMBERS: Final = (
    "job_minutes",
    "max_vcpu",
    "max_runs",
    "small_file_bytes",
    "batch_files",
    "batch_bytes",
    "batch_seconds",
    "workload_days",
    "anchor_days",
)

DEFAULTS: Final[Mapping[str, str]] = {
    "landing_prefix": "",
    "adopts": "yes",
    "job_parameters": "--conf spark.sql.runSQLOnFiles=false",
    "job_minutes": "60",
    "max_vcpu": "16",
    "max_runs": "2",
    "judge": "",
    "small_file_bytes": "0",
    "batch_files": "1",
    "batch_bytes": str(64 << 20),
    "batch_seconds": "300",
    "workload_days": "400",
    "prices": "",
    "landed_queue": "",
    "bus": "default",
    "unrouted": "quarantine",
    "approval": "no",
    "signing_key": "",
    "replaced_signing_key": "",
    "anchors": "",
    "anchor_days": "0",
    "pull_hosts": "",
    "pull_secrets": "lakegate-source-",
    "validator_hosts": "",
    "validator_secrets": "lakegate-validator-",
    "table_database": "",
    "ignored": ",".join(IGNORED),
    "missing_fields": "warn",
}


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment; an empty variable counts as absent. Raises SetUpError that names every mistake."""
    values = {name: environment.get(PREFIX + name.upper()) or DEFAULTS.get(name) for name in PATTERNS}
    wrong = [
        f"{PREFIX}{name.upper()} {'is missing' if value is None else 'is not of the form ' + PATTERNS[name]}"
        for name, value in values.items()
        if value is None or not re.fullmatch(PATTERNS[name], value, re.ASCII)
    ]
    if values["landing"] is not None and values["landing"] == values["lake"]:
        wrong.append(f"{PREFIX}LANDING and {PREFIX}LAKE must be two buckets")
    if wrong:
        raise SetUpError("; ".join(wrong))
    given = {name: value for name, value in values.items() if value is not None}
    numbers = {name: int(given[name]) for name in NUMBERS}
    return Settings(**{**given, **numbers})  # type: ignore[arg-type] # the integers among them

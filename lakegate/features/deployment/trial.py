"""The scratch stack of `lakegate stack prove` while its steps are tried, and what a step is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from lakegate.aws.open_stack import DeployedStack, ask_service, find_stack, parameters_of
from lakegate.aws.stack_operations import BUCKETS, KEYS, TABLES
from lakegate.features.deployment.smoke_command import SECONDS_OF_SMOKE_TEST, SmokeError
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.protocol import END_STATES

STACK: Final = "lakegate-day-one"
"""The scratch stack, whose data is deleted: no other name is possible."""
PREFIX: Final = "lakegate-day-one/"
"""Of landing keys, and of the rows that large deliveries are made of, in the lake."""
INITIAL: Final[Mapping[str, str]] = {
    "BatchFiles": "1",
    "KmsKey": "own",
    "LogDays": "7",
    "MaxConcurrentRuns": "2",
    "SmallFileBytes": "0",
    "WarmWorkers": "2",
}
"""Parameters of the scratch stack: all by Spark, each by a run of its own, under a key; workers wait, so that forty runs take
ten minutes. Of 16 vCPUs two runs at once have three executors each, three runs would have one."""
NETWORK: Final = ("SubnetIds", "SecurityGroupIds")
GIBIBYTE: Final = 1 << 30
FIRST_PART: Final = 5 << 20
"""The smallest part of an object (S3 user guide, "Multipart upload limits")."""
NEXT_PART: Final = 64 << 20
SMALL_FILES: Final = "67108864"
HOUR: Final = 3600
TICK_SECONDS: Final = 5.0
JUDGED: Final = (0, 1, 3)
"""Exit codes of `upload --wait`: the document has the verdict, or that there is none."""


class StepSkipped(Exception):  # noqa: N818 - an outcome
    """A step that cannot be tried here; its text says why, and what to do."""


def _refused(*words: str, **_: object) -> Any:  # noqa: ANN401 - as a command
    raise SmokeError(f"no commands on another stack: {words}")


@dataclass
class Trial:
    """The scratch stack while steps are tried."""

    lakegate: Callable[..., Any]
    """Commands on the scratch stack."""
    folder: Path
    deployment: tuple[str, ...]
    """Options of `stack deploy`: where the release is, and parameters that this account needs."""
    network: Mapping[str, str] = field(default_factory=dict)
    """The subnets and security groups that are given."""
    stores: dict[str, str] = field(default_factory=dict)
    """Buckets and tables that the scratch stack has made; by name the output."""
    keys: dict[str, str] = field(default_factory=dict)
    """ARNs of the KMS keys that it has made, by parameter."""
    kept: list[str] = field(default_factory=list)
    """What no deletion takes away."""
    commands: Callable[[str], Callable[..., Any]] = lambda _name: _refused
    """Commands on another stack of the trial, by its name."""

    @property
    def there(self) -> DeployedStack:
        """The stack as it is now. Raises SmokeError where it is gone."""
        if (stack := find_stack(STACK, ask_service)) is None:
            raise SmokeError(f"the stack {STACK} is not there")
        return stack

    def deploy(self, **parameters: str) -> Any:  # noqa: ANN401 - the document of the command
        """Deploy the scratch stack, or change parameters, and note what it has made."""
        return self.deploy_as({}, 0, parameters)

    def deploy_as(self, by: Mapping[str, str], watch: int, parameters: Mapping[str, str]) -> Any:  # noqa: ANN401 - likewise
        """The same with variables that have the credentials of somebody else, and minutes in which alarms roll back."""
        values = [word for name, value in parameters.items() for word in ("--parameter", f"{name}={value}")]
        words = ("stack", "deploy", *self.deployment, "--no-smoke", "--watch", str(watch), "--yes", *values)
        found = self.lakegate(*words, **({"by": by} if by else {}))
        self.note_stores(self.there)
        return found

    def note_stores(self, there: DeployedStack) -> None:
        """Note what has to be deleted in the end; of an earlier trial, too."""
        names = {there.output(each): each for each in (*BUCKETS, *TABLES)}
        self.stores |= {name: each for name, each in names.items() if name.startswith(f"{STACK}-")}
        given = parameters_of(there)
        self.keys |= {name: there.output(output) for name, output in KEYS.items() if given.get(name) == "own"}

    def by_spark(self) -> DeployedStack:
        """The stack, in which every delivery is judged by Spark."""
        if parameters_of(self.there).get("SmallFileBytes") != "0":
            self.deploy(SmallFileBytes="0")
        return self.there

    def publish(
        self, contract: str, datasets: Mapping[str, Sequence[Mapping[str, Any]]], **settings: str | int
    ) -> None:
        """Publish a contract, and route a prefix to each of its datasets."""
        document = {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": f"lakegate-day-one-{contract}",
            "version": "1.0.0",
            "status": "active",
            "name": contract,
            "schema": [
                {
                    "name": name,
                    "logicalType": "object",
                    "properties": list(columns),
                    "customProperties": [{"property": "lakegate", "value": {"format": "csv", **settings}}],
                }
                for name, columns in datasets.items()
            ],
        }
        path = self.folder / f"{contract}.odcs.json"
        path.write_text(json.dumps(document))
        self.lakegate("publish", str(path), "--yes")
        for name in datasets:
            prefix = f"{PREFIX}{contract}-{name}/"
            self.lakegate("route", "add", prefix, document["id"], "--dataset", name, "--yes")

    def upload(
        self, prefix: str, texts: Sequence[str], *, codes: Sequence[int] = (0,), timeout: int = SECONDS_OF_SMOKE_TEST
    ) -> Any:  # noqa: ANN401 - as above
        """Upload texts as files of their own, and wait for their verdicts; the document of one, or of several."""
        paths = []
        for text in texts:
            paths.append(self.folder / f"{uuid4().hex}.csv")
            paths[-1].write_text(text)
        words = ("upload", *map(str, paths), "--to", f"{PREFIX}{prefix}/", "--wait", "--timeout", str(timeout))
        return self.lakegate(*words, codes=codes)

    def finished(self, workload: str, seconds: float) -> Any:  # noqa: ANN401 - as above
        """A delivery that is finished. Raises SmokeError where it is not, after so many seconds."""
        limit, ends = time.monotonic() + seconds, {state.value for state in END_STATES}
        while True:
            found = self.lakegate("status", workload, codes=(0, 2))  # it may not be taken in yet
            if found and found["state"] in ends:
                return found
            if time.monotonic() > limit:
                raise SmokeError(f"{workload[:12]} is {found['state'] if found else 'not taken in'} after {seconds} s")
            time.sleep(TICK_SECONDS)


@dataclass(frozen=True, slots=True)
class StepObservation:
    """What a step expects of an account, and what was there: names with numbers, texts, truths or lists of them."""

    expected: Mapping[str, Any]
    """By the parameters of the stack."""
    seen: Mapping[str, Any]
    words: str = ""
    """Of a step that is as expected."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """Numbers that are shown and compared with nothing."""

    @property
    def difference(self) -> str:
        """What is otherwise, in words; empty where nothing is."""
        others = [name for name in self.expected if self.expected[name] != self.seen.get(name)]
        return "; ".join(f"{name}: {self.seen.get(name)!r}, expected {self.expected[name]!r}" for name in others)


@dataclass(frozen=True, slots=True)
class AccountStep:
    """A question that only an account answers."""

    title: str
    proves: str
    otherwise: str
    """The meaning, or the remedy, if it is not so."""
    minutes: int
    dollars: float
    run: Callable[[Trial], str | StepObservation]
    """The words of a step that is as expected, or what it compares. Raises SmokeError where it is not, StepSkipped."""
    needs: tuple[str, ...] = ()
    """Parameters that a person has to name; without them it is skipped."""


READING: Final = (
    {"name": "id", "logicalType": "string", "required": True},
    {"name": "amount", "logicalType": "integer"},
)


# ---- Large deliveries and runs ----


@contextmanager
def large_block(there: DeployedStack) -> Iterator[tuple[dict[str, str], bytes]]:
    """An object of 64 MiB of rows in the lake, of which S3 makes large deliveries by copies, and its bytes; gone afterwards."""
    rows = b"".join(f"{uuid4().hex},{number:08d}\n".encode() for number in range(1 << 12))
    source = {"Bucket": there.output("LakeBucket"), "Key": f"{PREFIX}rows"}
    block = (rows * (NEXT_PART // len(rows) + 1))[:NEXT_PART].rpartition(b"\n")[0] + b"\n"
    ask_service("s3", "put_object", **source, Body=block)
    try:
        yield source, block
    finally:
        ask_service("s3", "delete_object", **source)


def land_large(there: DeployedStack, source: Mapping[str, str], block: bytes, size: int, folder: str) -> str:
    """The workload of an object a little smaller than `size`, which S3 makes of copies of a block."""
    bucket, key = there.output("LandingBucket"), f"{PREFIX}{folder}/{uuid4().hex}.csv"
    place = {"Bucket": bucket, "Key": key}
    place["UploadId"] = ask_service("s3", "create_multipart_upload", **place)["UploadId"]
    first = f"id,amount\n{uuid4().hex},1\n".encode() + block[:FIRST_PART].rpartition(b"\n")[0] + b"\n"
    first += block[: block.index(b"\n") + 1] * 2  # never less than a part may have
    tags = [ask_service("s3", "upload_part", **place, PartNumber=1, Body=first)["ETag"]]
    for number in range(2, size // NEXT_PART + 1):
        copied = ask_service("s3", "upload_part_copy", **place, PartNumber=number, CopySource=dict(source))
        tags.append(copied["CopyPartResult"]["ETag"])
    parts = {"Parts": [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]}
    made = ask_service("s3", "complete_multipart_upload", **place, MultipartUpload=parts)
    return workload_id(bucket, key, made["VersionId"])


def run_of(there: DeployedStack, delivery: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as boto3 has it
    """The job run of a delivery. Raises SmokeError where it had none."""
    if not delivery["run"]:
        raise SmokeError(f"{delivery['workload'][:12]} was judged without a job run")
    place = {"applicationId": there.output("ApplicationId"), "jobRunId": delivery["run"]}
    return ask_service("emr-serverless", "get_job_run", **place)["jobRun"]

"""Makes a fresh stack as quick as a used one: functions loaded, Spark's classes loaded and its code compiled.

The job itself runs on deliveries of its own, under an application of its own whose events nobody listens to, while SAM
deploys: so the first upload meets the same Spark as the tenth.
"""

from __future__ import annotations

import io
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from infra.local.stack_deploy import ARTIFACTS, JOB, RELEASE, client
from infra.samples.catalogue import SAMPLES
from infra.samples.writer import write
from lakegate.errors import SetUpError
from lakegate.extension_points import ROOT
from lakegate.lints.linter import read
from lakegate.plan.request import Request, StagedPart
from lakegate.rules.compile_plan import compile_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.aws.open_stack import LocalState
    from lakegate.plan.plan import Plan

DELIVERIES: Final = (
    ("weather-dirty.csv", "weather.dcm.yaml"),
    ("orders-clean.csv", "orders.odcs.yaml"),
    ("weather-clean.csv", "weather.dcm.yaml"),
    ("orders-dirty.csv", "orders.odcs.yaml"),
)


ROWS: Final = 2_000


ROLE: Final = "arn:aws:iam::000000000000:role/warm-up"


PATIENCE_SECONDS: Final = 120.0


PAUSE_SECONDS: Final = 0.05


ENDS: Final = frozenset({"SUCCESS", "FAILED", "CANCELLED"})


EMPTY_BATCH: Final = b'{"Records": []}'


UNSIGNED: Final = b'{"routeKey": "GET /api/v1/workload/{id}", "requestContext": {"requestId": "warm-up"}}'
"""A request that the HTTP API refuses."""


HARMLESS: Final = {
    "IntakeFunction": EMPTY_BATCH,
    "CompletionFunction": EMPTY_BATCH,
    "JudgeFunction": EMPTY_BATCH,
    "ApiFunction": UNSIGNED,
}


def warm_spark(state: LocalState) -> None:
    """Run the job on each delivery, one after the other. SetUpError where one does not succeed."""
    jobs, s3 = client(state, "emr-serverless"), client(state, "s3")
    application = jobs.create_application(name="warm-up", releaseLabel=RELEASE, type="SPARK")["applicationId"]
    for number, (sample, contract) in enumerate(DELIVERIES):
        _run(jobs, application, _put(s3, number, sample, _plan(contract)))


def warm_functions(state: LocalState, outputs: Mapping[str, str]) -> None:
    """Give each function that people meet an event without effects, so that it is loaded."""
    lambdas = client(state, "lambda")
    events = {outputs[name]: event for name, event in HARMLESS.items() if name in outputs}
    with ThreadPoolExecutor(len(events)) as threads:
        for each in [
            threads.submit(lambdas.invoke, FunctionName=name, Payload=event) for name, event in events.items()
        ]:
            each.result()


def _plan(contract: str) -> Plan:
    document = read((ROOT / "contracts/examples" / contract).read_bytes())
    return compile_plan(document, document.datasets[0])


def _put(s3: Any, number: int, sample: str, plan: Plan) -> str:  # noqa: ANN401 - boto3 makes its clients' classes as it goes
    """Put plan, data and request of one delivery into the bucket of artifacts; the request's address."""
    folder = f"warm-up/{number}"
    with TemporaryDirectory() as name:
        path = Path(name, sample)
        write(SAMPLES[sample], path, ROWS, seed=0)
        data = path.read_bytes()
    place = f"s3://{ARTIFACTS}/{folder}"
    identity = sha256(place.encode()).hexdigest()
    request = Request(
        workload=identity,
        attempt=1,
        plan_uri=f"{place}/plan.json",
        plan_digest=plan.digest,
        source_version=identity,
        parts=(StagedPart(f"{place}/part-00000.csv", len(data)),),
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        output_uri=place,
    )
    for file, body in (("plan.json", plan.to_bytes()), ("part-00000.csv", data), ("request.json", request.to_bytes())):
        s3.put_object(Bucket=ARTIFACTS, Key=f"{folder}/{file}", Body=io.BytesIO(body))
    return f"{place}/request.json"


def _run(jobs: Any, application: str, request: str) -> None:  # noqa: ANN401 - as above
    submit = {"entryPoint": str(JOB), "entryPointArguments": ["--request", request]}
    run = jobs.start_job_run(applicationId=application, executionRoleArn=ROLE, jobDriver={"sparkSubmit": submit})
    limit = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < limit:
        found = jobs.get_job_run(applicationId=application, jobRunId=run["jobRunId"])["jobRun"]
        if found["state"] in ENDS:
            break
        time.sleep(PAUSE_SECONDS)
    if found["state"] != "SUCCESS":
        raise SetUpError(f"the job does not run here ({found['state']}: {found.get('stateDetails', '')}).")

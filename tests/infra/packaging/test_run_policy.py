"""What a job run may do: its role and its session policy together, as another implementation of IAM decides."""

from __future__ import annotations

import json
from pathlib import Path

from lakegate.gate.delivery.submit_run import run_policy
from lakegate.gate.dependencies import JobSettings
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import Stack
from tests.unit.gate.delivery.test_submit_run_policy import ENTRY, PARAMETERS, WORKLOAD, request

OTHER = "1e" * 32
OWN = (
    ("s3:GetObject", "code/1.0-abc/validate.py"),
    ("s3:GetObject", f"staging/{WORKLOAD}/part-00000.csv"),
    ("s3:GetObject", f"runs/{WORKLOAD}/attempt=2/request.json"),
    ("s3:GetObject", "accepted/shop/customers_v1/ingest_date=2026-11-22/workload=1/part-00000.csv"),
    ("s3:PutObject", f"runs/{WORKLOAD}/attempt=2/result.json"),
    ("s3:PutObject", f"runs/{WORKLOAD}/attempt=2/rows/accepted/_temporary/0/part-00000.csv"),
    ("s3:DeleteObject", f"runs/{WORKLOAD}/attempt=2/rows/accepted/_temporary/0/part-00000.csv"),
    ("s3:GetObject", f"runs/{WORKLOAD}/attempt=2/rows/accepted/part-00000.txt"),
    ("s3:DeleteObject", f"runs/{WORKLOAD}/attempt=2/rows/accepted/part-00000.txt"),
    ("s3:AbortMultipartUpload", f"runs/{WORKLOAD}/attempt=2/rows/accepted/part-00000.csv"),
)
FOREIGN = (
    ("s3:GetObject", f"staging/{OTHER}/part-00000.csv"),
    ("s3:GetObject", f"runs/{OTHER}/attempt=1/rows/accepted/part-00000.csv"),
    ("s3:GetObject", "accepted/shop/orders_v1/ingest_date=2026-11-22/workload=1/part-00000.csv"),
    ("s3:GetObject", "accepted/shop/customers_v10/part-00000.csv"),
    ("s3:GetObject", "code/2.0/validate.py"),
    ("s3:GetObject", "quarantine/shop/customers_v1/part-00000.csv"),
    ("s3:PutObject", f"runs/{WORKLOAD}/attempt=1/result.json"),
    ("s3:PutObject", f"runs/{WORKLOAD}/attempt=20/result.json"),
    ("s3:PutObject", f"runs/{OTHER}/attempt=1/result.json"),
    ("s3:DeleteObject", f"runs/{OTHER}/attempt=1/result.json"),
    ("s3:PutObject", f"runs/{WORKLOAD}/report.html"),
    ("s3:PutObject", f"staging/{WORKLOAD}/part-00000.csv"),
    ("s3:PutObject", "code/1.0-abc/validate.py"),
    ("s3:PutObject", "accepted/shop/customers_v1/part-00000.csv"),
)


def test_a_run_reaches_its_own_objects_and_no_others(built: Path) -> None:
    """Whatever a file makes the job do, it neither reads other deliveries nor writes another attempt's result."""
    stack = Stack.read(built, EmrApplicationId="00f1", LandingBucket="landing", LakeBucket="lake")
    role = [each["PolicyDocument"] for each in stack.resources("AWS::IAM::Role")["JobRole"]["Policies"]]
    job = JobSettings("00f1", "arn:aws:iam::123456789012:role/job", ENTRY, PARAMETERS)
    session = json.loads(run_policy(job, "lake", request("shop/customers_v1")))
    asked = [Call(action, f"arn:aws:s3:::lake/{key}") for action, key in (*OWN, *FOREIGN)]
    asked.append(Call("s3:ListBucket", "arn:aws:s3:::lake"))
    asked.append(Call("s3:GetObject", "arn:aws:s3:::landing/in/a.csv"))

    answers = allowed(role, asked, [session])

    assert answers == [True] * len(OWN) + [False] * len(FOREIGN) + [True, False]

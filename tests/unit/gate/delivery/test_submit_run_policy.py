"""The session policy of a job run, for all requests that there can be: valid, within its bound, and for its own objects."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.gate.delivery.submit_run import COMFORTABLE, LONGEST_POLICY, BatchScope, batch_policy, run_policy
from lakegate.gate.dependencies import JobSettings
from lakegate.plan.request import AcceptedPart, Reference, Request, StagedPart
from lakegate.plan.slice_order import MergeOrder, SliceOrder

WORKLOAD, DIGEST = "0f" * 32, "ab" * 32
ENTRY = "s3://lake/code/1.0-abc/validate.py"
PARAMETERS = "--jars s3://lake/code/1.0-abc/deequ.jar,s3://shared/jars/avro.jar --conf spark.archives=s3://lake/code/1.0-abc/e.tar.gz#e"
JOB = JobSettings("00f1", "arn:aws-cn:iam::123456789012:role/job", ENTRY, PARAMETERS)


def request(*lines: str, plans: int = 1) -> Request:
    """A request whose rules refer to lines, each with as many plans."""
    references = tuple(
        Reference(
            line,
            0,
            tuple(
                AcceptedPart(f"s3://lake/accepted/{line}/p", 1, f"s3://lake/plans/{n}.json", "") for n in range(plans)
            ),
        )
        for line in lines
    )
    return Request(
        workload=WORKLOAD,
        attempt=2,
        plan_uri=f"s3://lake/plans/{DIGEST}.json",
        plan_digest=DIGEST,
        source_version="v",
        parts=(StagedPart(f"s3://lake/staging/{WORKLOAD}/part-00000.csv", 7),),
        judged_at="2026-11-22T00:00:00+00:00",
        output_uri=f"s3://lake/runs/{WORKLOAD}/attempt=2",
        references=references,
    )


def readable(policy: str) -> list[str]:
    """What the policy lets the run read, without the beginning of the ARN."""
    statement = json.loads(policy)["Statement"][0]
    assert statement["Action"] == "s3:GetObject"
    return [each.removeprefix("arn:aws-cn:s3:::") for each in statement["Resource"]]


def test_a_run_reads_its_own_objects_and_the_lines_that_its_rules_refer_to() -> None:
    """Code of its release, its plan and theirs, the staged copy, its own folder, accepted data of those lines: nothing else."""
    assert readable(run_policy(JOB, "lake", request("shop/customers_v1"))) == [
        "lake/code/1.0-abc/*",
        "shared/jars/*",
        "lake/plans/0.json",
        f"lake/plans/{DIGEST}.json",
        "lake/accepted/shop/customers_v1/*",
        f"lake/staging/{WORKLOAD}/part-00000.csv",
        f"lake/runs/{WORKLOAD}/attempt=2/*",
    ]


def test_a_run_that_merges_rows_reads_its_line() -> None:
    """The merge state is beside what was accepted."""
    order = SliceOrder(0, merge=MergeOrder("shop/sales_v1", ("id",)))

    assert "lake/accepted/shop/sales_v1/*" in readable(run_policy(JOB, "lake", replace(request(), slices=order)))


def test_references_that_do_not_fit_are_all_accepted_data() -> None:
    """With many lines, or many plans, the policy is widened to what the role may read at most."""
    policy = run_policy(JOB, "lake", request("shop/customers_v1", plans=40))

    assert len(policy) <= COMFORTABLE
    assert readable(policy)[2:4] == ["lake/plans/*", "lake/accepted/*"]


@given(st.lists(st.text(min_size=1, max_size=80), max_size=12))
def test_the_policy_of_a_batch_does_not_depend_on_its_members(lines: list[str]) -> None:
    """It names the folder of the staged copies of its group, and its own, whatever is in them."""
    scope = BatchScope(f"s3://lake/plans/{DIGEST}.json", tuple(lines), f"staging/{'g' * 32}/", f"runs/{'b' * 64}/")
    policy = batch_policy(JOB, "lake", scope)
    own = [f"lake/staging/{'g' * 32}/*", f"lake/runs/{'b' * 64}/*"]

    assert len(policy) <= COMFORTABLE
    assert policy.isascii()
    assert readable(policy)[-2:] == own
    assert json.loads(policy)["Statement"][1]["Resource"] == f"arn:aws-cn:s3:::{own[1]}"
    assert (f"lake/plans/{DIGEST}.json" in readable(policy)) is (not lines)


@cache
def longest_of_aws() -> int:
    """By botocore's own model, which takes longer to read than a policy to make."""
    shape = botocore.session.get_session().get_service_model("emr-serverless").shape_for("JobRunExecutionIamPolicy")
    return int(shape.members["policy"].metadata["max"])


@given(st.lists(st.text(min_size=1, max_size=80), max_size=12), st.integers(0, 8))
def test_every_policy_is_one_that_emr_serverless_takes(lines: list[str], plans: int) -> None:
    """Length and characters are those of AWS's model, whatever lines are called; a name never becomes a pattern of more."""
    policy = run_policy(JOB, "lake", request(*lines, plans=plans))
    stars = [each for each in readable(policy) if "*" in each.removesuffix("/*")]

    assert 0 < len(policy) <= COMFORTABLE < longest_of_aws() == LONGEST_POLICY
    assert policy.isascii()
    assert stars == []
    assert "$" not in policy


@pytest.mark.parametrize("line", ["a*b/c_v1", "a?b/c_v1", "a${aws:username}b/c_v1", "größe/c_v1", 'a"b/c_v1'])
def test_a_name_that_means_something_in_a_policy_matches_itself(line: str) -> None:
    """Each special character is any one character, so that the line's own data stays readable."""
    (place,) = [each for each in readable(run_policy(JOB, "lake", request(line))) if "accepted" in each]
    pattern = re.escape(place.removesuffix("*")).replace(r"\?", ".")

    assert re.fullmatch(pattern, f"lake/accepted/{line}/")

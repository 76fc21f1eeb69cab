"""Operations on the deployed stack: `doctor`, an erasure, and every command of the runbooks."""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.aws.clients import client
from tests.e2e.deployed import Deployed
from tests.e2e.running import lakegate
from tests.unit.docs.page_commands import aws, commands, sections

if TYPE_CHECKING:
    from click.testing import Result


RUNBOOKS = sections("runbooks.md")


def ran(*words: str) -> Result:
    """What a command ends with, on the stack of the tests."""
    return lakegate(*words, "--local")


@cache
def of_runbooks(line: str) -> Result:
    """What a command of the runbooks ends with; many begin with the same one, which runs once."""
    return ran(*shlex.split(line)[1:])


def causes() -> list[str]:
    document: Any = json.loads(ran("doctor", "--json", "--timeout", "60").stdout)
    return [each["cause"] for each in document["findings"] if each["level"] == "fault"]


def test_doctor_finds_what_an_operator_did(stack: Deployed) -> None:
    """A rule, a schedule and a bucket's versioning, each changed by hand, are found, and not any more when they are restored."""
    rule, landing = stack.resources["MovedRule"], stack.dependencies.places.landing
    before = causes()
    client("events").disable_rule(Name=rule)
    client("s3").put_bucket_versioning(Bucket=landing, VersioningConfiguration={"Status": "Suspended"})
    changed = causes()
    client("events").enable_rule(Name=rule)
    client("s3").put_bucket_versioning(Bucket=landing, VersioningConfiguration={"Status": "Enabled"})

    assert set(changed) - set(before) == {"rule-disabled", "versioning-off"}
    assert set(causes()) == set(before)


def test_the_rows_of_a_person_are_erased(stack: Deployed) -> None:
    """The row is in no version of any object; the other rows keep their bytes, and readers and `verify` find them."""
    body = stack.fresh()
    landed = stack.finished(stack.upload(body))
    *others, person = body.decode().splitlines()
    name = person.partition(",")[2]
    words = ("--where-key", f"name={name}", "--reason", "ticket 318", "--yes", "--json")
    erased = ran("erase", "e2e-shop/sales_v1", *words)
    verified = ran("verify", "e2e-shop/sales_v1", "--objects", "--json")
    (left,) = stack.destinations(landed)
    versions = client("s3").list_object_versions(Bucket=stack.dependencies.places.lake, Prefix="accepted/e2e-shop/")
    (entry,) = json.loads(erased.stdout)["objects"]

    assert (entry["rows"], entry["erased_rows"], entry["left"]) == (3, 1, True), erased.stderr
    assert stack.body(left).decode().splitlines() == others
    assert name not in "".join(
        client("s3")
        .get_object(Bucket=stack.dependencies.places.lake, Key=each["Key"], VersionId=each["VersionId"])["Body"]
        .read()
        .decode()
        for each in versions["Versions"]
        if each["Key"].endswith(".csv")
    )
    assert json.loads(verified.stdout)["intact"], verified.stdout


@pytest.mark.parametrize("name", sorted(RUNBOOKS))
def test_the_commands_of_a_runbook_run(stack: Deployed, name: str) -> None:
    """Each ends with a result and not with a usage error: what an operator copies works."""
    runbook = RUNBOOKS[name].replace("orders_v1", "e2e-shop/sales_v1")  # the line of an example
    for line in dict.fromkeys(commands(runbook)):
        if line.startswith("aws "):
            assert aws(line, stack.resources, client)["ResponseMetadata"]["HTTPStatusCode"] < 300
        else:
            ended = of_runbooks(line)

            assert ended.exit_code in {0, 1, 3}, ended.stderr

"""docs/deploy.md agrees with the template."""

from __future__ import annotations

import re

from infra.packaging.bundles import FUNCTIONS, JOB, JUDGE, PULL, TABLE
from lakegate.admission.multi_file_delivery import MAX_PARTS
from lakegate.aws.vpc_endpoints import ENDPOINTS, OF_THE_JOB
from lakegate.base.extension_points import ROOT
from lakegate.contract.documents.read_document import LARGEST_BYTES
from lakegate.features.deployment.parameter_values import PROFILES
from lakegate.features.deployment.preflight import FEW_EXECUTIONS, LONGEST_NAME, UNRESERVED_AT_LEAST
from lakegate.features.pull.pull_task import MAX_BYTES
from lakegate.features.revalidation.revalidation import RevalidationEnd
from lakegate.gate.delivery.submit_run import BYTES_OF_AN_EXECUTOR
from lakegate.gate.dependencies import Timing
from lakegate.gate.registry.registry_store import MAX_CONTENT
from tests.sam.built import Stack

GUIDE = (ROOT / "docs/deploy.md").read_text()


def test_the_guide_lists_every_parameter_with_its_default(stack: Stack) -> None:
    """Anyone who deploys reads all parameters there are, and no others."""
    documented = re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? ?\|", GUIDE, re.MULTILINE)
    made = {name: str(each["Default"]) for name, each in stack.template["Parameters"].items()}

    assert dict(documented) == made


def test_the_guide_asks_for_outputs_that_exist(stack: Stack) -> None:
    """Each `out NAME` of a command is an output of the stack."""
    asked = set(re.findall(r"\$\(out (\w+)\)", GUIDE))

    assert asked
    assert asked <= set(stack.template["Outputs"])


def test_the_guide_explains_every_policy_for_people(stack: Stack) -> None:
    """Each policy that an output names, of the stack and of an owner's stack, has its row, and no others have."""
    tenant = Stack.read(ROOT / "tenant.yaml").template
    outputs = {name for each in (stack.template, tenant) for name in each["Outputs"] if name.endswith("Policy")}

    assert set(re.findall(r"^\| `(\w+Policy)` ", GUIDE, re.MULTILINE)) == outputs


def test_the_guide_counts_the_alarms_that_are_paid_for(stack: Stack) -> None:
    """The row of costs has the number of alarms and its price, 0.10 USD each."""
    (number, price) = re.findall(r"^\| alarms, 0.10 USD each \| (\d+) \| ([\d.]+) USD", GUIDE, re.MULTILINE)[0]

    assert int(number) == len(stack.resources("AWS::CloudWatch::Alarm")) == round(float(price) * 10)


def test_the_guide_lists_the_metrics_that_are_paid_for() -> None:
    """Every metric that the functions count is in the row of costs."""
    (row,) = re.findall(r"^\| custom metrics, .*$", GUIDE, re.MULTILINE)
    counted = {
        name
        for path in (ROOT / "lakegate/aws/lambda_runtime.py", *(ROOT / "functions").glob("*.py"))
        for name in re.findall(r'(?:add_metric|log_failures|count_once)\("(\w+)"', path.read_text())
    }
    counted |= {end.metric for end in RevalidationEnd}

    assert counted == set(re.findall(r"`(\w+)`", row))


def test_the_guide_explains_every_alarm(stack: Stack) -> None:
    """Who is woken finds what it means."""
    for alarm in stack.resources("AWS::CloudWatch::Alarm"):
        assert f"`{alarm}`" in GUIDE


def test_the_guide_has_every_profile_side_by_side() -> None:
    """A column for each profile, a row for each parameter that one sets, as the command sets it."""
    table = GUIDE.split("### Profiles\n")[1].split("\nAbout what a month")[0]
    (titles, _, *rows) = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")
    ]
    documented = {
        profile: {row[0]: value for row in rows if (value := row[number])}
        for number, profile in enumerate(titles[1:], 1)
    }

    assert documented == PROFILES
    assert [row[0] for row in rows] == sorted({name for each in PROFILES.values() for name in each})


def test_the_guide_lists_the_endpoints_that_are_looked_for() -> None:
    """Each with its type, and none besides."""
    table = GUIDE.split("### In a VPC\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?`) \| (gateway|interface)", table, re.MULTILINE)
    documented = {(name, kind.capitalize()) for names, kind in rows for name in re.findall(r"`([\w-]+)`", names)}

    assert documented == {(each.service, each.kind) for each in ENDPOINTS}


def test_functions_call_what_the_guide_has_endpoints_for() -> None:
    """A bundle describes the services that its functions call, and no others; X-Ray is called by Lambda's own daemon."""
    called = FUNCTIONS.services | PULL.services | JUDGE.services | TABLE.services

    assert called | {"xray"} == {each.service for each in ENDPOINTS}
    assert set(OF_THE_JOB) == JOB.services - {"sts"}


def test_the_page_of_limits_has_the_numbers_of_the_code(stack: Stack) -> None:
    """A number that changes in the code changes there."""
    limits = (ROOT / "docs/limits.md").read_text()
    timing, parameters = Timing(), stack.template["Parameters"]
    rows = (
        f"| a contract document | {LARGEST_BYTES:,} bytes |",
        f"| versions, routes and children of one contract | {MAX_CONTENT:,} bytes |",
        f"| parts of a delivery | {MAX_PARTS} |",
        f"| a source that is pulled | {MAX_BYTES >> 30} GiB |",
        f"| starts of job runs | {timing.start_burst} at once, then one each {timing.start_interval.total_seconds()} seconds,",
        f"one executor for each {BYTES_OF_AN_EXECUTOR:,} bytes",
        f"at most {parameters['SmallFileBytes']['MaxValue'] >> 30} GiB | it goes to Spark |",
        f"at most {parameters['BatchBytes']['MaxValue'] >> 30} GiB | it has a run of its own |",
        f"`ReserveConcurrency=yes` needs {UNRESERVED_AT_LEAST + 1} |",
        f"below {FEW_EXECUTIONS} `stack deploy` warns",
        f"| a stack | at most {LONGEST_NAME} small letters,",
    )

    assert [each for each in rows if each not in limits] == []


def test_the_guide_names_make_targets_that_exist() -> None:
    """`make …` of the guide is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"^    make ([a-z-]+)", GUIDE, re.MULTILINE)) <= targets

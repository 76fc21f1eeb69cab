"""docs/deploy.md agrees with the template."""

from __future__ import annotations

import re

from lakegate.extension_points import ROOT
from lakegate.features.revalidation.revalidation import RevalidationEnd
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
        for name in re.findall(r'(?:add_metric|log_failures|single_metric)\("(\w+)"', path.read_text())
    }
    counted |= {end.metric for end in RevalidationEnd}

    assert counted == set(re.findall(r"`(\w+)`", row))


def test_the_guide_explains_every_alarm(stack: Stack) -> None:
    """Who is woken finds what it means."""
    for alarm in stack.resources("AWS::CloudWatch::Alarm"):
        assert f"`{alarm}`" in GUIDE


def test_the_guide_names_make_targets_that_exist() -> None:
    """`make …` of the guide is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"^    make ([a-z-]+)", GUIDE, re.MULTILINE)) <= targets

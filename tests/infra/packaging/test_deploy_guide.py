"""docs/deploy.md agrees with the template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.infra.local.places import ROOT

if TYPE_CHECKING:
    from tests.sam.built import Stack

GUIDE = (ROOT / "docs/deploy.md").read_text()


def test_the_guide_lists_every_parameter_with_its_default(stack: Stack) -> None:
    """Whoever deploys reads all parameters there are, and no others."""
    documented = re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? ?\|", GUIDE, re.MULTILINE)
    made = {name: str(each["Default"]) for name, each in stack.template["Parameters"].items()}

    assert dict(documented) == made


def test_the_guide_asks_for_outputs_that_exist(stack: Stack) -> None:
    """Each `out NAME` of a command is an output of the stack, and so is each policy."""
    asked = set(re.findall(r"\$\(out (\w+)\)", GUIDE)) | set(re.findall(r"^\| `(\w+Policy)` ", GUIDE, re.MULTILINE))

    assert asked
    assert asked <= set(stack.template["Outputs"])


def test_the_guide_explains_every_alarm(stack: Stack) -> None:
    """Who is woken finds what it means."""
    for alarm in stack.resources("AWS::CloudWatch::Alarm"):
        assert f"`{alarm}`" in GUIDE


def test_the_guide_names_make_targets_that_exist() -> None:
    """`make …` of the guide is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"^    make ([a-z-]+)", GUIDE, re.MULTILINE)) <= targets

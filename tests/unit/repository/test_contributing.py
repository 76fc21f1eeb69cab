"""What a newcomer copies from CONTRIBUTING.md, and what tools read from the root of the repository, works here."""

from __future__ import annotations

import json
import re

import yaml

from lakegate.base.extension_points import ROOT
from lakegate.contract.logical_types import LogicalType
from lakegate.verdict.value_mistakes import form_of

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
TARGETS = set(re.findall(r"^([a-z-][a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_make_target_of_the_page_exists() -> None:
    """`make …` of the page is a target of the Makefile."""
    named = set(re.findall(r"(?:`|\$ )make ([a-z0-9-]+)", PAGE))

    assert named
    assert named <= TARGETS


def test_every_path_of_the_page_exists() -> None:
    """Each file and folder that the page names is in the repository, or is made by the command beside it."""
    made = {"build/site", "build/site/index.html"}
    paths = {each for each in re.findall(r"`([\w.-]+/[\w./-]*)`", PAGE) if each not in made}
    tests = {f"tests/{each}" for each in re.findall(r"`(\w+/)`", PAGE.partition("| `tests/` |")[2].partition("\n")[0])}

    assert [each for each in sorted(tests) if not (ROOT / each).is_dir()] == []
    assert [each for each in sorted(paths) if not ((ROOT / each).exists() or (ROOT / "tests" / each).exists())] == []


def test_the_first_change_is_still_to_be_made() -> None:
    """The page's example fails before it is made: a reader sees the test fail."""
    assert form_of(LogicalType.BOOLEAN, ["tak"]) != form_of(LogicalType.BOOLEAN, ["ja"])


def test_hooks_and_the_container_call_make() -> None:
    """Hooks are local and call targets of the Makefile; so does the container, whose image comes from no host of its own."""
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    commands = [*(hook["entry"] for hook in repository["hooks"]), container["postCreateCommand"]]

    assert repository["repo"] == "local"
    assert {command.split()[0] for command in commands} == {"make"}
    assert {command.split()[1] for command in commands} <= TARGETS
    assert "/" not in container["image"]

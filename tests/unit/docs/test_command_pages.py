"""The pages for people say what the command and the code really have."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lakegate.cli.main import app
from lakegate.gate.registry.publish_contract import status_of
from lakegate.lints.lifecycle_lints import STATUSES

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
ABROAD = {"local", "demo"}
"""Commands of the local stack have tests of their own."""


def commands() -> dict[str, click.Command]:
    """Every command by its words, those of groups included."""
    found: dict[str, click.Command] = {}
    context = click.Context(app)
    for name in app.list_commands(context):
        each = app.get_command(context, name)
        assert each is not None
        inner = getattr(each, "commands", None)
        found |= {f"{name} {word}": one for word, one in inner.items()} if inner else {name: each}
    return found


def written(page: str) -> Iterator[list[str]]:
    """Every command line of a page, in code blocks and in between."""
    text = (ROOT / page).read_text()
    for line in re.findall(r"(?:^(?: {4,}|\$ | {4,}\$ )|`)(?:\.venv/bin/)?lakegate ([^`\n|]+)", text, re.MULTILINE):
        yield shlex.split(line, comments=True)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_commands_and_options_there_are(page: str) -> None:
    """What a reader copies works: the command is there, and takes every option shown."""
    known = commands() | {"": app}
    lines = [["", *words] if words[0].startswith("-") else words for words in written(page) if words[0] not in ABROAD]
    wrong = []
    for words in lines:
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        options = {each for each in words if each.startswith("--")}
        taken = {option for each in known[name].params for option in each.opts} | {"--help"} if name in known else set()
        if not options <= taken:
            wrong.append(words)

    assert wrong == []


def test_pages_for_people_name_commands() -> None:
    """The search for command lines finds those of the pages that consist of them."""
    pages = (
        "README.md",
        "docs/producer.md",
        "docs/consumer.md",
        "docs/events.md",
        "docs/operator.md",
        "docs/deploy.md",
    )

    assert [page for page in pages if not list(written(page))] == []


@pytest.mark.parametrize("name", sorted(name for name in commands() if name.partition(" ")[0] not in ABROAD))
def test_every_command_shows_an_example_and_takes_json(name: str) -> None:
    """`--help` ends nobody's search without a line to copy. `mcp` has a protocol of its own on standard output."""
    command = commands()[name]

    assert "Example: lakegate " + name in (command.help or "")
    assert not re.search(r"Example: .*\n *Example: ", command.help or ""), "two examples of a paragraph run together"
    assert name == "mcp" or "--json" in {option for each in command.params for option in each.opts}


def test_the_architecture_lists_every_command() -> None:
    """Section 9 has a row for each command, and none for a command that does not exist."""
    section = (ROOT / "docs/architecture.md").read_text().split("\n## 9. ")[1].split("\n## ")[0]
    cells = "\n".join(re.findall(r"^\| (`.*?[^\\]) \| ", section, re.MULTILINE))
    word = r"[a-z][a-z-]*"
    names = [re.match(rf"{word}(?:(?:\\\|| ){word})*", each) for each in re.findall(rf"`({word}[^`]*)`", cells)]
    listed = {
        " ".join(words)
        for name in names
        if name
        for words in itertools.product(*(each.split("\\|") for each in name[0].split(" ")))
    }

    assert listed == set(commands())


def test_every_alarm_of_the_protocol_is_on_the_operators_page() -> None:
    """Anyone who is woken finds the code, what it means and what to do."""
    raised = {
        code
        for path in (ROOT / "lakegate").rglob("*.py")
        for code in re.findall(r'Alarm(?:Error)?\("([a-z-]+)"', path.read_text())
    }
    table = (ROOT / "docs/operator.md").read_text().split("## Alarms of the protocol")[1].split("\n## ")[0]

    assert raised == set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", "".join(re.findall(r"^\| [^|]+", table, re.MULTILINE))))


def test_the_table_of_statuses_is_what_publishing_does() -> None:
    """Every status that lint knows is in the table, with the status that the version gets."""
    table = (ROOT / "docs/contracts.md").read_text().split("<!-- contracts.md#status -->")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    result = {word: row for row in rows for word in re.findall(r"`([^`]+)`", row[0])}
    kept = {word: word if row[2] == "the same" else row[2].strip("`") for word, row in result.items()}

    assert {each for known in STATUSES.values() for each in known} == set(result)
    assert {word: status_of(word) for word in result} == kept

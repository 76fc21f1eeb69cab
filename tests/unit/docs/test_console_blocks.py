"""Console blocks of the documentation that need no stack are run, and what they show is what the command prints."""

from __future__ import annotations

import glob
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra.samples.__main__ import main as write_samples
from lakegate.base.extension_points import ROOT
from lakegate.cli import terminal
from lakegate.cli.main import app

SESSIONS = (ROOT / "README.md", ROOT / "docs/authoring.md")
"""Pages whose commands need what those before them wrote."""
PAGES = (ROOT / "CONTRIBUTING.md", *sorted({*(ROOT / "docs").glob("*.md")} - {*SESSIONS}))
COMMAND = re.compile(r"(?:\$ )?(?:\.venv/bin/)?lakegate ((?:lint|plan|check) [^#]+)")
OWN = re.compile(r"(?:\.venv/bin/)?lakegate (.+)")
GAP = "…"


@dataclass(frozen=True)
class Example:
    """A command of a page, and the output that the page shows below it; a line `…` matches any lines."""

    page: str
    words: tuple[str, ...]
    shown: tuple[str, ...]


def blocks(text: str) -> list[list[str]]:
    """The code blocks of a page, fenced as console or indented by four."""
    fenced = [body.split("\n") for body in re.findall(r"^ *```console\n(.*?)\n *```$", text, re.DOTALL | re.MULTILINE)]
    indented = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return [*fenced, *([line.removeprefix("    ") for line in body.strip("\n").split("\n")] for body in indented)]


def examples(page: Path) -> list[Example]:
    """The commands of a page whose files are in the repository or among the samples."""
    found = []
    for block in blocks(page.read_text()):
        for number, line in enumerate(block):
            command = COMMAND.fullmatch(line.rstrip()) or COMMAND.match(line)
            if command is None or not re.search(r" (?:contracts|samples)/", command[1]):
                continue
            following = block[number + 1 :] if line.startswith("$ ") else []
            end = next((at for at, each in enumerate(following) if each.startswith("$ ")), len(following))
            found.append(Example(page.name, tuple(shlex.split(command[1])), tuple(following[:end])))
    return found


EXAMPLES = [each for page in PAGES for each in examples(page)]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contracts of the repository and the files of `make sample-data`."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "contracts").symlink_to(ROOT / "contracts")
    write_samples([str(folder / "samples")])
    return folder


def plain(lines: list[str]) -> list[str]:
    """Lines without what differs from run to run: the seconds."""
    return [re.sub(r"in \d+\.\d s$", "in N s", line.rstrip()) for line in lines]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.page}: {' '.join(each.words)}")
def test_a_command_prints_what_the_page_shows(example: Example, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part between two gaps is what a terminal shows, in this order; only dirty samples are rejected."""
    monkeypatch.chdir(clone)
    monkeypatch.setattr(terminal, "is_read_by_a_person", lambda: True)
    words = [path for word in example.words for path in (sorted(glob.glob(word)) if "*" in word else [word])]  # noqa: PTH207 - as a shell does

    assert_shows(words, example.shown)


def assert_shows(words: list[str], shown: tuple[str, ...]) -> None:
    """Run a command and compare what it prints."""
    ended = CliRunner(env={"COLUMNS": "80"}).invoke(app, words)
    printed = "\n".join(plain(ended.stdout.split("\n")))
    at = 0
    for part in "\n".join(plain(list(shown))).split(f"\n{GAP}\n"):
        assert part.strip("\n") in printed[at:]
        at = printed.index(part.strip("\n"), at) + len(part.strip("\n"))

    assert ended.exit_code == int(any("dirty" in word for word in words))


@pytest.mark.parametrize("page", SESSIONS, ids=lambda each: each.name)
def test_a_page_is_a_session(page: Path, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, run one after the other in a folder with the sample data and the examples, print what the page shows."""
    for name in ("samples", "contracts"):
        (tmp_path / name).symlink_to(clone / name)
    monkeypatch.setattr(terminal, "is_read_by_a_person", lambda: True)
    monkeypatch.chdir(tmp_path)
    lines = "\n".join("\n".join(block) for block in blocks(page.read_text()) if block[0].startswith("$ "))
    commands = [part.split("\n") for part in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]]
    own = [(line[1], shown) for first, *shown in commands if (line := OWN.fullmatch(first))]

    assert len(own) > 3
    for line, shown in own:
        words = shlex.split(line, comments=True)
        assert_shows([path for word in words for path in (sorted(glob.glob(word)) or [word])], tuple(shown))  # noqa: PTH207 - as a shell does


def test_pages_have_examples_with_output() -> None:
    """The producer's page shows what a check prints."""
    assert "producer.md" in {each.page for each in EXAMPLES if len(each.shown) > 10}

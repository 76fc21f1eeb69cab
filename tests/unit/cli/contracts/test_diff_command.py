"""`lakegate diff`: what changes between two versions of a contract, and which number the changes need."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate

WHOLE = {"integer, classification: public": "string, classification: public"}
CHANGE = "major  orders.amount  type-changed: integer → string"
BECAUSE = "       affects consumer and producer. The values are of another type."


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of git with one commit, as the current folder; the configuration of the person does not count."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    git("init", "--quiet")
    return folder


def git(*words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)  # noqa: S603, S607 - the tests' own words


def test_two_files_are_compared(lakegate: Lakegate) -> None:
    """Each change with its bump, who is affected and why, then the verdict on the number."""
    result = lakegate("diff", lakegate.contract(), lakegate.contract("1.1.0", **WHOLE))

    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [CHANGE, BECAUSE, "The changes need MAJOR, and 1.0.0 → 1.1.0 is not: use 2.0.0 or higher."],
    )


def test_a_number_that_is_too_low_ends_with_1_if_it_is_enforced(lakegate: Lakegate) -> None:
    """With --enforce for CI: 1 if the number is too low, else 0."""
    old = lakegate.contract()
    codes = [
        lakegate("diff", old, lakegate.contract(version, **WHOLE), "--enforce", *more).exit_code
        for version in ("1.1.0", "2.0.0")
        for more in ((), ("--json",))
    ]

    assert codes == [1, 1, 0, 0]
    assert "No change (1.0.0 → 1.0.0)." in lakegate.ok("diff", old, old, "--enforce")
    assert "The changes need MAJOR, and 1.0.0 → 2.0.0 is enough." in lakegate.ok(
        "diff", old, lakegate.contract("2.0.0", **WHOLE)
    )


def test_the_document_for_machines_follows_its_schema(lakegate: Lakegate) -> None:
    """Bump, declared bump, verdict, and each change with both perspectives."""
    answer = lakegate.json("diff", lakegate.contract(), lakegate.contract("1.1.0", **WHOLE))
    validate("diff", answer)

    assert answer == {
        "format": "lakegate/diff/1",
        "old": "1.0.0",
        "new": "1.1.0",
        "bump": "major",
        "declared": "minor",
        "sufficient": "2.0.0",
        "ok": False,
        "changes": [
            {
                "path": "orders.amount",
                "kind": "type-changed",
                "before": "integer",
                "after": "string",
                "consumer": True,
                "producer": True,
                "bump": "major",
                "because": "The values are of another type.",
            }
        ],
    }


def test_a_published_version_is_compared_with_a_file(lakegate: Lakegate) -> None:
    """By its number, or the newest one; the number of a contract that is not published is an error."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract("1.1.0", Shop="Market"))
    new = lakegate.contract("1.2.0", Shop="Market")

    assert "name  metadata: Shop → Market" in lakegate.ok("diff", "shop@1.0.0", new)
    assert lakegate.ok("diff", "shop@latest", new) == "No change (1.1.0 → 1.2.0).\n"
    assert "no version 9.9.9" in str(lakegate("diff", "shop@9.9.9", new).exception)


def test_a_revision_of_git_is_compared_with_a_file(lakegate: Lakegate, repository: Path) -> None:
    """REVISION:PATH is the file in a commit, whatever lies in the folder now."""
    (repository / "a b.yaml").write_bytes((repository / lakegate.contract()).read_bytes())
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    (repository / "a b.yaml").unlink()
    new = lakegate.contract("1.1.0", **WHOLE)

    assert CHANGE in lakegate.ok("diff", "HEAD:a b.yaml", new)
    assert CHANGE in lakegate.ok("diff", "HEAD~0:./a b.yaml", new)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("HEAD:other.yaml", "`other.yaml` is not a file of the commit `HEAD`"),
        ("HEAD:..", "`..` is not a file of the commit `HEAD`"),
        ("none:a.yaml", "`none` is not a commit of this repository"),
        ("HEAD:", "is not a file of a commit"),
        (":a.yaml", "is not a file of a commit"),
        ("--output=a:a.yaml", "is not a file of a commit"),
        ("HEAD..HEAD:a.yaml", "is not a file of a commit"),
        ("$(touch hacked):a.yaml", "is not a file of a commit"),
        ("HEAD;touch hacked:a.yaml", "is not a file of a commit"),
        ("HEAD:a\n.yaml", "is not a file of a commit"),
        ("HEAD:$(touch hacked)", "`$(touch hacked)` is not a file of the commit `HEAD`"),
        ("nothing", "nothing: no such contract is published"),
    ],
)
def test_a_hostile_name_is_refused_and_runs_nothing(
    lakegate: Lakegate, repository: Path, name: str, reason: str
) -> None:
    """Options, ranges, shell text and control characters name no file of a commit."""
    git("commit", "--quiet", "--allow-empty", "--message", "one")
    result = lakegate("diff", "--", name, lakegate.contract())

    assert result.exit_code == 1
    assert reason in str(result.exception)
    assert not list(repository.glob("hacked*"))


def test_a_symbolic_link_in_a_commit_is_not_followed(lakegate: Lakegate, repository: Path) -> None:
    """What is compared is the text of the link, which is no contract."""
    (repository / "link.yaml").symlink_to(lakegate.contract())
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    (repository / "link.yaml").unlink()

    assert lakegate("diff", "HEAD:link.yaml", lakegate.contract()).exit_code != 0


def test_git_is_named_if_it_is_missing(lakegate: Lakegate, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without git can compare files."""
    new = lakegate.contract()
    monkeypatch.setenv("PATH", str(repository))

    assert str(lakegate("diff", "HEAD:a.yaml", new).exception) == "git is missing: install it, or name two files"


def test_markdown_shows_hostile_text_as_text(lakegate: Lakegate) -> None:
    """Names and descriptions of a contract form no link, mention, table cell or HTML in a comment on a pull request."""
    hostile = "'<script>|[x](https://a.example) @team #1 **b** `c`'"
    new = lakegate.contract("1.0.1", **{"name: Shop": f"name: {hostile}"})
    *head, row = lakegate.ok("diff", lakegate.contract(), new, "--format", "markdown").splitlines()

    assert head == [
        "**The changes need PATCH, and 1\\.0\\.0 → 1\\.0\\.1 is enough\\.**",
        "",
        "| needs | path | change | before | after | affects | because |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    assert row == (
        "| patch | name | metadata | Shop | &lt;script&gt;\\|\\[x\\]\\(https:\\u200b//a\\.example\\) @\\u200bteam "
        "\\#1 \\*\\*b\\*\\* \\`c\\` | nobody | No delivery is judged otherwise\\. |"
    ).replace("\\u200b", "\u200b")


def test_markdown_without_a_change_has_no_table(lakegate: Lakegate) -> None:
    """One sentence is left."""
    old = lakegate.contract()

    assert lakegate.ok("diff", old, old, "--format", "markdown") == "**No change \\(1\\.0\\.0 → 1\\.0\\.0\\)\\.**\n"


def test_a_long_value_is_cut_on_a_terminal(lakegate: Lakegate) -> None:
    """The document for machines has the whole value."""
    new = lakegate.contract("1.0.1", **{"name: Shop": f"name: {'x' * 300}"})

    assert f"Shop → {'x' * 200}…\n" in lakegate.ok("diff", lakegate.contract(), new)
    assert lakegate.json("diff", lakegate.contract(), new)["changes"][0]["after"] == "x" * 300


def test_a_broken_document_is_refused(lakegate: Lakegate) -> None:
    """With the problems that lint would show."""
    result = lakegate("diff", lakegate.contract(), lakegate.contract(integer="whole"))

    assert result.exit_code == 1
    assert "whole" in str(result.exception)

"""Tests of a self-contained package run per commit if the package was changed, or if git cannot tell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT
from tests import conftest
from tests.changes import is_changed
from tests.conftest import OF_FILES, SELF_CONTAINED
from tests.unit.repository.layers import own_files, product

IMPORTED_BY_ALL = {"lakegate/base/errors.py", "lakegate/base/extension_points.py"}
"""An exception class and the address of the repository: no reason to test a service again."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main, and a branch whose only commit changes `other/`."""
    root = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "repository")
    for name in ("service/a.py", "other/b.py"):
        commit(root, name)
    git(root, "checkout", "--quiet", "-b", "branch")
    commit(root, "other/c.py")
    return root


def git(root: Path, *words: str) -> None:
    known = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *known, *words], check=True, capture_output=True)  # noqa: S603, S607 - git


def commit(root: Path, name: str) -> None:
    write(root, name)
    git(root, "add", name)
    git(root, "commit", "--quiet", "-m", name)


def write(root: Path, name: str) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{path.read_text() if path.exists() else ''}1\n")


def test_what_a_branch_did_not_touch_is_unchanged(repository: Path) -> None:
    """The whole branch counts since it left main, and main's later commits do not."""
    git(repository, "checkout", "--quiet", "main")
    commit(repository, "service/a.py")
    git(repository, "checkout", "--quiet", "branch")

    assert [is_changed(repository, name) for name in ("service", "other")] == [False, True]


@pytest.mark.parametrize("name", ["service/a.py", "service/new.py"])
def test_what_is_not_committed_is_changed(repository: Path, name: str) -> None:
    """An edit of a file, and a file that git does not know yet."""
    write(repository, name)

    assert is_changed(repository, "service")


def test_on_main_the_last_commit_is_the_change(repository: Path) -> None:
    """Of main, and of a clone of it, what came before its last commit was tested before."""
    git(repository, "checkout", "--quiet", "main")
    git(repository.parent, "clone", "--quiet", "--branch", "main", str(repository), "clone")
    clone = repository.parent / "clone"

    for root in (repository, clone):
        assert [is_changed(root, name) for name in ("service", "other")] == [False, True]


def test_commits_of_main_that_nobody_has_yet_are_the_change(repository: Path) -> None:
    """On a clone's own main all commits count since the main that it was cloned from."""
    git(repository, "checkout", "--quiet", "main")
    git(repository.parent, "clone", "--quiet", "--branch", "main", str(repository), "clone")
    clone = repository.parent / "clone"
    for name in ("service/a.py", "third/d.py"):
        commit(clone, name)

    assert [is_changed(clone, name) for name in ("service", "third", "other")] == [True, True, False]


def test_where_git_cannot_tell_all_is_changed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not a repository, one without main, a clone without history, a machine without git."""
    url = f"file://{repository}"
    git(repository.parent, "clone", "--quiet", "--depth", "1", "--branch", "main", url, "shallow")
    git(repository.parent, "clone", "--quiet", "--branch", "branch", str(repository), "mainless")
    git(repository.parent / "mainless", "branch", "--remotes", "--delete", "origin/HEAD", "origin/main")
    plain = repository.parent / "plain"
    plain.mkdir()

    assert [is_changed(repository.parent / name, "service") for name in ("plain", "shallow", "mainless")] == [True] * 3
    monkeypatch.setenv("PATH", str(plain))
    assert is_changed(repository, "service")


@pytest.mark.parametrize("folder", SELF_CONTAINED, ids=lambda path: path.name)
def test_all_that_a_self_contained_package_imports_counts_as_its_own(folder: Path) -> None:
    """A change of what the service uses runs its tests as well."""
    watched = SELF_CONTAINED[folder]
    own = {file for file in product() if file.is_relative_to(watched[0])}
    used = {other for file in own for other in own_files(file) if str(other) not in IMPORTED_BY_ALL}

    assert own
    assert {file for file in used if not any(file.is_relative_to(path) for path in watched)} == set()


@pytest.mark.parametrize("file", OF_FILES, ids=lambda path: path.name)
def test_what_a_test_of_files_depends_on_exists(file: Path) -> None:
    """A path that was renamed would be watched in vain; the test itself is among them."""
    assert [path for path in OF_FILES[file] if not (ROOT / path).exists()] == []
    assert str(file.relative_to(ROOT)) in OF_FILES[file]


@pytest.mark.parametrize("file", OF_FILES, ids=lambda path: path.name)
def test_a_test_of_files_runs_where_one_of_them_was_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is of the night."""
    changed = {OF_FILES[file][0]}
    monkeypatch.setattr(conftest, "is_changed", lambda _, *paths: not changed.isdisjoint(paths))
    tested_nightly = conftest.tested_nightly.__wrapped__

    assert not tested_nightly(file)
    changed.clear()
    assert tested_nightly(file)
    assert not tested_nightly(file.with_name("test_template.py"))

"""Contract versions as a person names them for a comparison: files, revisions of git, or versions in the registry."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from lakegate.cli.aws import opened
from lakegate.cli.inputs import MAX_BYTES, STANDARD_INPUT, InputDocument, with_definitions
from lakegate.cli.parents import ParentPlaces
from lakegate.cli.published import chosen, snapshot_of
from lakegate.contracts.compare.version import read_version
from lakegate.contracts.errors import InputError
from lakegate.contracts.inherit.resolve import Resolver
from lakegate.contracts.words import shown
from lakegate.functions.usecases.parents import document_of

if TYPE_CHECKING:
    from lakegate.contracts.compare.version import ContractVersion

PUBLISHED = re.compile(
    r"(?P<contract>.+)@(?P<version>[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?|latest)", re.DOTALL
)
REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]*")
"""The names of commits that are looked up: never an option, a path, or a search (`:/text`)."""
OBJECT = re.compile(r"[0-9a-f]{40,64}")
SECONDS = 30
"""The longest time that git may take."""


def named_version(name: str, stack: str, *, local: bool) -> ContractVersion:
    """The version that a name means, with what it inherits. ContractError or InputError where it cannot be read.

    The parents of a published version are those that it was published with, all others are files beside the document, or
    in the registry.
    """
    if name == STANDARD_INPUT or os.path.exists(name):  # noqa: PTH110 - a name may be no path at all
        return _read(InputDocument(name).read(), name, stack, local=local)
    published = PUBLISHED.fullmatch(name)
    if published:
        return _published(published["contract"], published["version"], stack, local=local)
    revision, colon, path = name.partition(":")
    if colon:
        return _read(_at_revision(revision, path), path, stack, local=local)
    raise InputError(
        f"{shown(name)} is neither a file nor a version: write FILE, CONTRACT@VERSION, CONTRACT@latest or REVISION:PATH"
    )


def _read(text: bytes, name: str, stack: str, *, local: bool) -> ContractVersion:
    parents = ParentPlaces.of(None, stack, local=local).parents(name, text)
    return read_version(text, complete=Resolver(parents).complete)


def _published(contract: str, version: str, stack: str, *, local: bool) -> ContractVersion:
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = chosen(snapshot_of(dependencies.registry, contract), contract, None if version == "latest" else version)
        document = document_of(dependencies, found)
    return read_version(document.text, published=True, complete=Resolver(document.parents).complete)


def _at_revision(revision: str, path: str) -> bytes:
    """A file in a commit, with the definitions of files beside it in the same commit; a symbolic link is not followed."""
    if not REVISION.fullmatch(revision) or ".." in revision or not path or not path.isprintable():
        raise InputError(
            f"{shown(f'{revision}:{path}')} is not a file of a commit: write REVISION:PATH, e.g. HEAD~1:orders.yaml"
        )
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    if not OBJECT.fullmatch(commit):
        raise InputError(f"{shown(revision)} is not a commit of this repository")

    def read(name: str) -> bytes:
        problem = f"{shown(name)} is not a file of the commit {shown(revision)}"
        return _git("cat-file", "blob", f"{commit}:{name}", problem=problem)

    folder = path[: path.rfind("/") + 1]
    return with_definitions(read(path), lambda name: read(folder + name))


def _git(*arguments: str, problem: str = "") -> bytes:
    """The beginning of the output of git, in this folder; nothing is fetched, and no configured program runs."""
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        with subprocess.Popen(  # noqa: S603 - a list of arguments, never a shell
            ["git", "--no-replace-objects", *arguments],  # noqa: S607 - the git of the person
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as git:
            assert git.stdout is not None
            output = git.stdout.read(MAX_BYTES)
            git.stdout.close()
            code = git.wait(SECONDS)
    except FileNotFoundError:
        raise InputError("git is missing: install it, or name two files") from None
    if problem and code != 0 and len(output) < MAX_BYTES:
        raise InputError(problem)
    return output

"""Contract documents on disk, in git, in a registry; parents beside them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urljoin

from lakegate.aws.open_stack import open_deployed
from lakegate.base.errors import ContractError, InputError, LakegateError
from lakegate.base.extension_points import advice
from lakegate.base.text import printable, quote
from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.semantic_versions import is_release, major, precedence
from lakegate.inheritance.inherited_documents import ParentDocument, Parents, Resolver, identity_of, resolve
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

if TYPE_CHECKING:
    from lakegate.diff.compared_versions import ContractVersion
    from lakegate.library.published_contracts import ContractDocument

# ---- Documents as a person names them ----


STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_ADDRESS = re.compile(r"(?P<scheme>https?|ftp|file):/+(?=[^/])", re.IGNORECASE)
MAX_BYTES = (1 << 20) + 1
"""One more than any contract may have: enough to refuse it."""


def _fetched(url: str) -> bytes:
    from lakegate.library.contract_urls import fetch_document  # noqa: PLC0415 - a client of HTTPS, for addresses alone

    return fetch_document(url, MAX_BYTES)


def not_fetched(url: str) -> bytes:
    """Raise InputError: an address is not read. What `--offline` puts in the place of a request."""
    raise InputError(f"{quote(url)} was not read: --offline fetches nothing")


@dataclass(frozen=True, slots=True)
class InputDocument:
    """A document to read."""

    name: str
    found: bool = False
    """Whether a folder held it; then it may be no contract at all."""
    fetch: Callable[[str], bytes] = _fetched
    """Reads an address, of the document or of definitions that it uses. Raises InputError."""
    root: Path | None = None
    """The folder that definitions of files may be read from; by default that of the document."""

    def read(self) -> bytes:
        """Its first bytes, enough to judge it; InputError where it cannot be read."""
        if self.name == STANDARD_INPUT:
            return _beginning(sys.stdin.buffer)
        if is_url(self.name):
            return _at_url(self.name, self.fetch)
        try:
            with Path(self.name).open("rb") as file:
                files = DefinitionFiles(Path(self.name).parent, self.root)
                return with_definitions(_beginning(file), files, self.fetch, files.above)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the name holds a NUL character"
            raise InputError(f"{self.name} cannot be read: {reason}.") from error


def sources(
    names: list[str], fetch: Callable[[str], bytes] = _fetched, root: Path | None = None
) -> Iterator[InputDocument]:
    """The documents that files, folders and `-` name; InputError for a folder that holds none. `fetch`, `root`: as theirs.

    The definitions of files of a folder's documents may be anywhere in it.
    """
    for name in names:
        if name != STANDARD_INPUT and _is_folder(name):
            yield from _inside(Path(name), fetch, root or Path(name))
        else:
            yield InputDocument(name, fetch=fetch, root=root)


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _inside(folder: Path, fetch: Callable[[str], bytes], root: Path) -> Iterator[InputDocument]:
    """The files of a folder and of those below it, hidden ones (`.git`, `.venv`) left out."""
    found = False
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in sorted(file for file in files if file.endswith(SUFFIXES) and not file.startswith(".")):
            found = True
            name = os.path.join(path, each)  # noqa: PTH118 -- keeps the name as the person wrote it
            if not Path(name).is_file():
                sys.stderr.write(f"lakegate: {printable(name)} is no file, passed over\n")
            elif not Path(name).resolve().is_relative_to(folder.resolve()):
                sys.stderr.write(f"lakegate: {printable(name)} is a link that leaves the folder, passed over\n")
            else:
                yield InputDocument(name, found=True, fetch=fetch, root=root)
    if not found:
        raise InputError(f"{folder} holds no {', '.join(SUFFIXES)} file.")


def with_definitions(
    text: bytes, read: Callable[[str], bytes], fetch: Callable[[str], bytes] = _fetched, above: int = 0
) -> bytes:
    """A contract document with the definitions of files that it uses (`lakegate.contract.documents.ref_definitions`).

    `above`: how many folders above that of the document may be read.
    """
    if b"$ref" not in text:
        return text
    from lakegate.contract.documents.document_formats import declares_format  # noqa: PLC0415 -- likewise
    from lakegate.contract.documents.ref_definitions import bundle_definitions  # noqa: PLC0415 -- yaml, for such documents alone

    def read_or_fetch(name: str) -> bytes:
        return fetch(name) if is_url(name) else read(name)

    return bundle_definitions(text, read_or_fetch, above) if declares_format(text) else text


def _at_url(url: str, fetch: Callable[[str], bytes] = _fetched) -> bytes:
    """A document by its address, with the definitions of files beside it there."""
    return with_definitions(fetch(url), lambda name: fetch(urljoin(url, name)), fetch)


def is_url(name: str) -> bool:
    """Whether a name is an address of the web, of whatever scheme."""
    return _ADDRESS.match(name) is not None


def url_of(path: Path) -> str | None:
    """The address that an argument of a command is, of which a path keeps one slash of two; None for a file."""
    name = str(path)
    return _ADDRESS.sub(lambda found: f"{found['scheme']}://", name, count=1) if is_url(name) else None


@dataclass(frozen=True, slots=True)
class DefinitionFiles:
    """Reads files by their paths from the folder of a document, and nothing outside of a root, wherever a link leads."""

    folder: Path
    root: Path | None = None
    """By default the folder; so, too, where the folder is not in it."""

    @property
    def above(self) -> int:
        """The folders above that of the document which are in the root."""
        folder, root = self.folder.resolve(), (self.root or self.folder).resolve()
        return len(folder.relative_to(root).parts) if folder.is_relative_to(root) else 0

    def __call__(self, name: str) -> bytes:
        """The first bytes of a file, enough to judge it; InputError where it cannot be read."""
        try:
            path, folder = (self.folder / name).resolve(strict=True), self.folder.resolve()
            if not path.is_relative_to([folder, *folder.parents][self.above]):
                raise InputError("the file is a link that leaves the folder of the document, or the root")
            if not path.is_file():
                raise InputError("this is no file")
            with path.open("rb") as file:
                return _beginning(file)
        except (OSError, RuntimeError) as error:  # a circle of links
            reason = getattr(error, "strerror", None) or "the links lead in a circle"
            raise InputError(f"the file cannot be read: {reason}") from None


def _beginning(file: BinaryIO) -> bytes:
    return file.read(MAX_BYTES)


# ---- Parents of documents ----


@dataclass(slots=True)
class StackRegistry:
    """The registry of a stack, which is opened for the first parent that no file has."""

    stack: str
    local: bool
    fault: str = ""
    """The reason why it cannot be read: it is not asked, or not again."""

    def parents(self, text: bytes) -> Parents:
        """Finds the parents of a document as `lakegate publish` does. InputError where the registry cannot be read."""

        def find(contract: str, number: int) -> ParentDocument | None:
            try:
                if not self.fault:
                    from lakegate.gate.registry.publish_contract import referred_of  # noqa: PLC0415 - for such parents alone

                    with open_deployed(self.stack, local=self.local) as there:
                        return referred_of(there.dependencies(), text).parents(contract, number)
            except LakegateError as error:
                self.fault = str(error)
            except ModuleNotFoundError as error:
                self.fault = advice(error) or ""
                if not self.fault:
                    raise
            raise InputError(
                f"no file has it, and the registry of the stack {self.stack} cannot be read ({self.fault}):"
                " give its file with --parents, or name another stack with --stack"
            )

        return find


@dataclass(frozen=True, slots=True)
class ParentPlaces:
    """Places where parents are searched, beside the folder of the document."""

    paths: tuple[Path, ...] = ()
    """Files and folders; if there are any, the folder of the document is not searched."""
    registry: StackRegistry | None = None
    """The registry, for a parent that no file has."""
    fetch: Callable[[str], bytes] = _fetched
    """Reads addresses, as that of `InputDocument`."""
    root: Path | None = None
    """The folder that definitions of files may be read from, as that of `InputDocument`."""
    _found: dict[str, list[tuple[tuple[str, str], InputDocument]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The contracts of the files, or of each folder, with id and version: a command reads them once."""

    @staticmethod
    def of(
        paths: list[Path] | None, stack: str, *, local: bool, offline: bool = False, root: Path | None = None
    ) -> ParentPlaces:
        """The places of a command's options. `offline`: of files alone."""
        registry = StackRegistry(stack, local, "--offline asks none" if offline else "")
        return ParentPlaces(tuple(paths or ()), registry, not_fetched if offline else _fetched, root)

    def parents(self, document: str, text: bytes) -> Parents:
        """Finds the highest release of a major number, first in the files; they are read when a document inherits."""
        folder = Path() if document == STANDARD_INPUT else Path(document).parent
        published = None if self.registry is None else self.registry.parents(text)

        def find(contract: str, number: int) -> ParentDocument | None:
            found = {
                version: each
                for (name, version), each in self._identified(folder)
                if name == contract and is_release(version) and major(version) == number
            }
            newest = max(found, key=precedence, default=None)
            if newest is not None:
                return ParentDocument(found[newest].read(), find)
            return None if published is None else published(contract, number)

        return find

    def _identified(self, folder: Path) -> list[tuple[tuple[str, str], InputDocument]]:
        """The contracts of the files, or beside a document, with id and version; what is not a contract is left out."""
        place = "" if self.paths else str(folder)
        if place not in self._found:
            paths = [str(path) for path in self.paths]
            documents = sources(paths, self.fetch, self.root) if paths else _beside(folder, self.fetch, self.root)
            self._found[place] = [
                (found, document) for document in documents if (found := _identity(document)) is not None
            ]
        return self._found[place]


def _beside(folder: Path, fetch: Callable[[str], bytes], root: Path | None) -> Iterator[InputDocument]:
    files = folder.iterdir() if folder.is_dir() else ()
    names = sorted(str(file) for file in files if file.suffix in SUFFIXES and file.is_file())
    return (InputDocument(name, found=True, fetch=fetch, root=root) for name in names)


def _identity(document: InputDocument) -> tuple[str, str] | None:
    """The id and the version of a contract; None for what is none. InputError where it cannot be read."""
    text = document.read()
    try:
        identity = identity_of(text)
        precedence(identity[1])
    except (ContractError, InputError):
        return None
    return identity


# ---- From a file's name to a compiled plan ----


def load(path: Path, places: ParentPlaces | None = None) -> Contract:
    """The contract in a file, with what it inherits; ContractError or InputError where it cannot be used.

    Without places, parents are files beside the document.
    """
    searched = places or ParentPlaces()
    text = read_text(path, searched.root)
    return _usable(text, searched.parents(str(path), text))


def _usable(text: bytes, parents: Parents) -> Contract:
    examined = resolve(text, parents).examined
    if examined.contract is None or examined.errors:
        raise ContractError(examined.errors)
    return examined.contract


def is_file_name(name: str) -> bool:
    """Whether a person who names a contract means a document: what is there, or has the suffix of one; else a published one."""
    is_known = name == STANDARD_INPUT or is_url(name) or name.endswith(SUFFIXES)
    return is_known or os.path.exists(name)  # noqa: PTH110 - it may be no path at all


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A contract, and what the registry has of it where it was named as a published one."""

    contract: Contract
    found: ContractDocument | None = None


def load_named(name: str, places: ParentPlaces, stack: str, *, local: bool, api: str | None) -> LoadedContract:
    """The contract that a person names: a document, or a published version. Raises as `load` and `load_published`."""
    if is_file_name(name):
        return LoadedContract(load(Path(name), places))
    return load_published(name, stack, local=local, api=api)


def load_published(name: str, stack: str, *, local: bool, api: str | None = None) -> LoadedContract:
    """The published version that `CONTRACT`, `CONTRACT@VERSION` or `CONTRACT@latest` means, with what it inherits.

    By default the version by which deliveries are judged now. ContractError or InputError where it cannot be read.
    """
    from lakegate.library.stack import open_stack  # noqa: PLC0415 - for such names alone

    named = PUBLISHED.fullmatch(name)
    with open_stack(stack, local=local, api=api) as there:
        found = there.document(named["contract"], named["version"]) if named else there.document(name, None)
        return LoadedContract(_usable(found.text.encode(), there.parents(found)), found)


def read_text(path: Path, root: Path | None = None) -> bytes:
    """The document in a file, or on standard input; InputError where it cannot be read. `root`: as that of `InputDocument`."""
    if str(path) == STANDARD_INPUT:
        return InputDocument(STANDARD_INPUT).read()
    if (url := url_of(path)) is not None:
        return _at_url(url)
    try:
        files = DefinitionFiles(path.parent, root)
        return with_definitions(path.read_bytes(), files, above=files.above)
    except OSError as error:
        raise InputError(f"the contract {path} cannot be read: {error.strerror}") from error


NO_DATASET = "the contract describes no dataset, so there is nothing to measure: describe one"


def plan_of(contract: Contract, dataset: str | None) -> Plan:
    """The plan of a dataset; where the contract has only one, its name may be left out."""
    return compile_plan(contract, _chosen(contract, dataset))


def _chosen(contract: Contract, name: str | None) -> Dataset:
    names = ", ".join(dataset.name for dataset in contract.datasets)
    if name is None and len(contract.datasets) == 1:
        return contract.datasets[0]
    found = contract.dataset(name) if name is not None else None
    if not contract.datasets:
        raise InputError(NO_DATASET)
    if found is None:
        problem = f"has no dataset {name}" if name is not None else "has several datasets"
        raise InputError(f"the contract {problem}: choose one with --dataset, in Python dataset= ({names})")
    return found


# ---- Files of new contracts ----


SUFFIX = ".odcs.yaml"
STANDARD_OUTPUT = "-"


def writable(target: str) -> None:
    """InputError where the file exists, or cannot be written."""
    if target == STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.exists():
        raise InputError(f"{target} exists and is not overwritten: name another file with --output")
    if not path.parent.is_dir():
        raise InputError(f"{target}: the folder {path.parent} does not exist")


def write_draft(target: str, text: str, *, as_json: bool) -> None:
    """Write a new file, or to standard output unless that has a JSON document; InputError where it cannot be written."""
    if target != STANDARD_OUTPUT:
        try:
            with Path(target).open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}") from error
    elif not as_json:
        sys.stdout.write(text)


# ---- Published versions, and those for a comparison ----


PUBLISHED = re.compile(
    r"(?P<contract>.+)@(?P<version>[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?|latest)", re.DOTALL
)
REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]*")
"""The names of commits that are looked up: never an option, a path, or a search (`:/text`)."""
OBJECT = re.compile(r"[0-9a-f]{40,64}")
SECONDS_OF_GIT = 30
"""The longest time that git may take."""


def load_version(
    name: str, stack: str, *, local: bool, root: Path | None = None, note: Callable[[str], None] = lambda _: None
) -> ContractVersion:
    """The version that a name means, with what it inherits. ContractError or InputError where it cannot be read.

    `note` is told of each version that takes effect later than that of `CONTRACT`, or beside it. The parents of a published
    version are those that it was published with, all others are files beside the document, or in the registry.
    """
    if name == STANDARD_INPUT or os.path.exists(name):  # noqa: PTH110 - a name may be no path at all
        return _read(InputDocument(name, root=root).read(), name, stack, local=local)
    if PUBLISHED.fullmatch(name) or not (":" in name or is_file_name(name)):
        return _published(name, stack, local=local, note=note)
    revision, colon, path = name.partition(":")
    if colon:
        return _read(_at_revision(revision, path, is_rooted=root is not None), path, stack, local=local)
    raise InputError(
        f"{quote(name)} is neither a file nor a version: write FILE, CONTRACT, CONTRACT@VERSION, CONTRACT@latest or"
        " REVISION:PATH"
    )


def _read(text: bytes, name: str, stack: str, *, local: bool) -> ContractVersion:
    from lakegate.diff.compared_versions import read_version  # noqa: PLC0415 - comparisons, for `diff` alone

    parents = ParentPlaces.of(None, stack, local=local).parents(name, text)
    return read_version(text, complete=Resolver(parents).complete)


def _published(name: str, stack: str, *, local: bool, note: Callable[[str], None]) -> ContractVersion:
    from lakegate.diff.compared_versions import read_version  # noqa: PLC0415 - as above
    from lakegate.library.stack import open_stack  # noqa: PLC0415 - for such names alone

    named = PUBLISHED.fullmatch(name)
    with open_stack(stack, local=local, api=None) as there:
        found = there.document(named["contract"], named["version"]) if named else there.document(name, None)
        for each in found.notes():
            note(f"{name} is {found.version}; {each}")
        return read_version(found.text.encode(), published=True, complete=Resolver(there.parents(found)).complete)


def _at_revision(revision: str, path: str, *, is_rooted: bool) -> bytes:
    """A file in a commit, with the definitions of files beside it in the same commit; a symbolic link is not followed.

    Where a root is given, it is that of the commit.
    """
    if not REVISION.fullmatch(revision) or ".." in revision or not path or not path.isprintable():
        raise InputError(
            f"{quote(f'{revision}:{path}')} is not a file of a commit: write REVISION:PATH, e.g. HEAD~1:orders.yaml"
        )
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    if not OBJECT.fullmatch(commit):
        raise InputError(f"{quote(revision)} is not a commit of this repository")

    def read(name: str) -> bytes:
        problem = f"{quote(name)} is not a file of the commit {quote(revision)}"
        return _git("cat-file", "blob", f"{commit}:{name}", problem=problem)

    folder = path[: path.rfind("/") + 1]
    above = folder.count("/") if is_rooted else 0
    return with_definitions(read(path), lambda name: read(normpath(folder + name)), above=above)


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
            code = git.wait(SECONDS_OF_GIT)
    except FileNotFoundError:
        raise InputError("git is missing: install it, or name two files") from None
    if problem and code != 0 and len(output) < MAX_BYTES:
        raise InputError(problem)
    return output

"""One runner: opened stack, confirmation, words or JSON; files that options name."""

from __future__ import annotations

import inspect
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from itertools import count
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, get_type_hints

import click
from click.core import ParameterSource

from lakegate.aws.open_stack import DEFAULT_STACK, DeployedStack, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.json_codec import encode
from lakegate.cli import terminal
from lakegate.cli.options import ApiUrl, AsJson, Local, StackName
from lakegate.cli.terminal import Word

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies
    from lakegate.library.stack import StackFacade

# ---- The runner ----
# A command is a function of its own arguments and options that returns a `CommandResult`. The runner adds the options that all
# such commands have, opens the stack, and renders the result: in words, or with `--json` its dataclass.


R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
P = ParamSpec("P")
KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY


BESIDE: Final = MappingProxyType({"beside": True})
"""Metadata of a field of a result whose members stand in the document beside the other fields; None has none."""


@dataclass(frozen=True, slots=True)
class CommandResult(Generic[R_co]):
    """The result of a command."""

    result: R_co | Callable[[], R_co]
    """A dataclass, whose fields are the document of `--json`, or a value with `to_json`; or a function that makes one."""
    words: Iterable[Word] = ()
    """The same for people; read only without `--json`."""
    exit_code: int = 0

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        """For machines."""
        result = self.result() if callable(self.result) else self.result
        if hasattr(result, "to_json"):
            return result.to_json()
        document = encode(result)
        for each in fields(result) if is_dataclass(result) else ():
            if "beside" in each.metadata:
                document |= document.pop(each.name) or {}
        return document


def command(function: Callable[P, CommandResult[Any]]) -> Callable[..., None]:
    """A command that opens no stack, or opens it itself; the runner adds `--json`."""
    return _with_options(function, None, ())


def stack_command(function: Callable[Concatenate[DeployedStack, P], CommandResult[Any]]) -> Callable[..., None]:
    """A command of a stack in AWS, which is its first argument; the runner adds `--stack`, `--local` and `--json`."""
    return _with_options(function, open_deployed, (STACK, LOCAL))


def gate_command(function: Callable[Concatenate[Dependencies, P], CommandResult[Any]]) -> Callable[..., None]:
    """A command of the gate of a stack in AWS, which starts no job; the runner adds the same options."""
    return _with_options(function, _opened_gate, (STACK, LOCAL))


@contextmanager
def _opened_gate(name: str, *, local: bool) -> Iterator[Dependencies]:
    with open_deployed(name, local=local) as there:
        yield there.dependencies()


def facade_command(function: Callable[Concatenate[StackFacade, P], CommandResult[Any]]) -> Callable[..., None]:
    """A command of a stack in AWS or behind its API, which is its first argument; the runner adds `--api`, too."""

    def opens(name: str, *, local: bool, api: str | None) -> AbstractContextManager[StackFacade]:
        from lakegate.library.stack import open_stack  # noqa: PLC0415 - the gate, for commands of a stack alone

        return open_stack(name, local=local, api=api)

    return _with_options(function, opens, (STACK, LOCAL, _option("api", ApiUrl, None)))


def _option(name: str, hint: Any, default: object) -> inspect.Parameter:  # noqa: ANN401 - a type
    return inspect.Parameter(name, KEYWORD, default=default, annotation=hint)


STACK: Final = _option("stack", StackName, DEFAULT_STACK)
LOCAL: Final = _option("local", Local, False)
AS_JSON: Final = _option("as_json", AsJson, False)


def _with_options(
    function: Callable[..., CommandResult[Any]],
    opens: Callable[..., AbstractContextManager[Any]] | None,
    of_stack: tuple[inspect.Parameter, ...],
) -> Callable[..., None]:
    """The function that a command of click is made of: its own parameters, then the shared ones, `--yes` as the last but one.

    A command that declares one of the shared parameters itself gets its value, too.
    """
    own = list(inspect.signature(function).parameters.values())[bool(of_stack) :]
    shared = {each.name for each in (*of_stack, AS_JSON)}
    asked = shared.intersection(each.name for each in own)
    written = SimpleNamespace(__annotations__={each.name: each.annotation for each in own})
    hints = get_type_hints(written, vars(sys.modules[function.__module__]), include_extras=True)
    declared = [each.replace(kind=KEYWORD, annotation=hints[each.name]) for each in own if each.name not in shared]
    last = [declared.pop()] if declared and declared[-1].name == "yes" else []

    @wraps(function)
    def run(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the options of the command
        options = {"as_json": as_json, **given}
        told = {name: each for name, each in options.items() if name in asked or name not in shared}
        if opens is None:
            outcome = function(**told)
        else:
            of_opening = {each.name: given[each.name] for each in of_stack[1:]}
            with ExitStack() as context:
                opening = opens(given["stack"], **of_opening)
                outcome = function(_Lazy(lambda: context.enter_context(opening)), **told)
        render(outcome, as_json=as_json)

    signature = inspect.Signature([*declared, *of_stack, *last, AS_JSON])
    run.__signature__ = signature  # type: ignore[attr-defined]  # where `inspect` looks
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run


class _Lazy:
    """A stack that is opened when it is first asked something: what a command is given is refused before."""

    def __init__(self, opening: Callable[[], Any]) -> None:
        self._opened = cache(opening)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as of the stack
        return getattr(self._opened(), name)


def render(outcome: CommandResult[Any], *, as_json: bool) -> None:
    """Print the result, and end the command with its exit code."""
    if as_json:
        terminal.print_json(outcome.document)
    else:
        terminal.tell(outcome.words)
    if outcome.exit_code:
        raise click.exceptions.Exit(outcome.exit_code)


def next_command(*words: str, of: Collection[str] = ("stack", "local", "api"), title: str = "Next") -> str:
    """A line with a command to go on with, and these options of the one that runs, as they were given.

    What the environment has given is not repeated: the next command has it, too.
    """
    context, given = click.get_current_context(), list(words)
    for each in context.command.params:
        value = context.params.get(each.name or "")
        if each.name not in of or context.get_parameter_source(each.name) is not ParameterSource.COMMANDLINE:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            name = (
                () if isinstance(each, click.Argument) else (each.opts if one is not False else each.secondary_opts)[:1]
            )
            given += [*name, *([] if isinstance(one, bool) else [str(one)])]
    return f"{title}: {shlex.join(given)}"


def name_rows_file(suffix: str | None, taken: Iterable[str]) -> str:
    """The name that a next command gives to a file of failing rows: none of a delivered file, which it would overwrite."""
    names = {each.rpartition("/")[2] for each in taken}
    return next(name for number in count() if (name := f"bad{number or ''}{suffix or '.csv'}") not in names)


# ---- Confirmation of effects ----


def confirm(effects: Iterable[str], *, yes: bool) -> None:
    """Return where there is no effect, or each one is confirmed: by `--yes`, or by a person at a terminal.

    Raises InputError otherwise: then nothing may be written.
    """
    found = tuple(effects)
    if yes or not found:
        return
    if not is_interactive():
        raise InputError(f"{'; '.join(found)}. Nothing was changed: confirm it with --yes")
    for each in found:
        terminal.note(f"  {each}")
    if not click.confirm("Continue?", err=True):
        raise InputError("not confirmed: nothing was changed")


def is_interactive() -> bool:
    """Whether a person can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


# ---- Files that an option names ----


def usable(option: str, path: Path, suffixes: tuple[str, ...], inputs: Iterable[Path]) -> None:
    """InputError where an option's file cannot be written, before any work is done for it; no input is overwritten."""
    if path.suffix not in suffixes:
        raise InputError(f"{option} {path}: name a file that ends in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise InputError(f"{option} {path}: this is a folder")
    if path.exists() and any(each.exists() and each.samefile(path) for each in inputs):
        raise InputError(f"{option} {path}: this file is read by the command; name another one")


def write_text(option: str, path: Path, text: str) -> None:
    """Write the file. InputError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written: {error.strerror}") from error


# ---- Interruption of a command with a folder of its own ----


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command: the folder holds values of the data in clear text, so it never stays."""


@contextmanager
def interruptible_folder() -> Iterator[Path]:
    """An empty temporary folder; while it exists, these signals end this process and its children at once, and remove the folder.

    No exception could do that reliably: an extension module that is being imported turns KeyboardInterrupt into ImportError,
    DuckDB into RuntimeError, destructors lose it, and Spark's own handler talks to the JVM in the middle of another call.
    """
    folder = Path(tempfile.gettempdir(), f"lakegate-{token_hex(8)}")

    def end(sent: int, _frame: object) -> None:
        terminal.say_interrupted()
        # other threads print tracebacks when their JVM or their files are gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.STANDARD_ERROR)
        for child in _descendants():
            with suppress(ProcessLookupError, ChildProcessError):  # no child of ours, or another thread waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(terminal.INTERRUPTED - signal.SIGINT + sent)

    before = {each: signal.signal(each, end) for each in ENDING}
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)


def _descendants(process: int | str = "self") -> list[int]:
    """Processes that one started, and theirs; where the system lists none, a JVM ends by itself when its standard input does."""
    with suppress(OSError):
        lists = Path(f"/proc/{process}/task").glob("*/children")
        own = [int(child) for listed in lists for child in listed.read_text().split()]
        return [each for child in own for each in (child, *_descendants(child))]
    return []

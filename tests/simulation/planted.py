"""Bugs planted into the real code, one at a time: a checker that does not find them cannot be trusted with ours."""

from __future__ import annotations

import builtins
import dis
import inspect
import io
import pkgutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import pytest
import yaml

WITHOUT = ("cacheprovider", "xdist", "unraisableexception", "hypothesispytest")
"""Plugins that a contract test does not need: the third one collects garbage for as long as the test takes."""


@dataclass(frozen=True, slots=True)
class Planted:
    """One small change of one function of the protocol, as text."""

    name: str
    where: str
    """Module, class if it is a method, and function."""
    old: str
    new: str
    shown_by: str = ""
    """The contract test that must fail; empty: random schedules must break a promise."""
    begin: tuple[int, ...] = ()
    """The first numbers of the schedules that may meet the bug; empty: all may."""
    seed: int = 0
    """Of a schedule that broke a promise when it was last looked for, if few do. An outdated one costs time and nothing else."""


PLANTED = tuple(
    Planted(**each)
    for name in ("planted.yaml", "planted_slices.yaml", "planted_typed.yaml", "planted_gated.yaml")
    for each in yaml.load(Path(__file__).with_name(name).read_text(), yaml.CSafeLoader)
)


@contextmanager
def planted(bug: Planted) -> Iterator[None]:
    """The real code with the bug in it; every reference to the function sees it, because only its code is exchanged."""
    function = _function(pkgutil.resolve_name(bug.where))
    name = function.__name__
    source = textwrap.dedent(inspect.getsource(function))
    assert bug.old in source, f"{bug.name}: the code has changed, adapt the planted bug"
    text = "from __future__ import annotations\n" + source.replace(bug.old, bug.new)
    namespace = dict(function.__globals__)
    exec(compile(text, f"<{bug.name}>", "exec"), namespace)  # noqa: S102 - the text is our own, from the table beside
    faulty = _function(namespace[name])
    loaded = {each.argval for each in dis.get_instructions(faulty) if each.opname == "LOAD_GLOBAL"}
    unknown = loaded - namespace.keys() - vars(builtins).keys()
    assert not unknown, f"{bug.name}: a NameError is not a bug of the protocol: {unknown}"
    original = function.__code__
    function.__code__ = faulty.__code__
    try:
        yield
    finally:
        function.__code__ = original


def _function(member: object) -> FunctionType:
    """The function of a module, or behind a property that is cached."""
    function = getattr(member, "func", member)
    assert isinstance(function, FunctionType)
    return function


def failed_test(bug: Planted) -> str:
    """What the contract test of a bug reports with the bug planted, up to its first failure; empty where it passes.

    It changes this process: plugins of pytest and modules of tests are imported.
    """
    output = io.StringIO()
    with planted(bug), redirect_stdout(output), redirect_stderr(output):
        without = [word for name in WITHOUT for word in ("-p", f"no:{name}")]
        code = pytest.main(["-q", "-x", *without, "--assert=plain", bug.shown_by])
    failures = [line for line in output.getvalue().splitlines() if line.startswith("FAILED ")]
    if code not in {0, 1} or (code == 1) is not bool(failures):
        raise AssertionError(f"{bug.name}: its contract test could not run\n{output.getvalue()}")
    return failures[0] if failures else ""

"""Bugs planted into the real code, one at a time: a checker that does not find them cannot be trusted with ours."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Planted:
    """One small change of one function of the use cases, as text."""

    name: str
    where: str
    """`module.function` below functions/usecases."""
    old: str
    new: str


PLANTED = tuple(Planted(**each) for each in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()))


@contextmanager
def planted(bug: Planted) -> Iterator[None]:
    """The real code with the bug in it; every reference to the function sees it, because only its code is exchanged."""
    module, _, name = bug.where.partition(".")
    function = vars(importlib.import_module(f"functions.usecases.{module}"))[name]
    source = textwrap.dedent(inspect.getsource(function))
    assert bug.old in source, f"{bug.name}: the code has changed, plant it anew"
    text = "from __future__ import annotations\n" + source.replace(bug.old, bug.new)
    namespace = dict(function.__globals__)
    exec(compile(text, f"<{bug.name}>", "exec"), namespace)  # noqa: S102 - the text is our own, from the table beside
    original = function.__code__
    function.__code__ = namespace[name].__code__
    try:
        yield
    finally:
        function.__code__ = original

"""Options that several commands have are declared once (`lakegate.cli.options`)."""

from __future__ import annotations

import inspect
import typing
from collections import defaultdict

from infra.site.command_schemas import commands
from lakegate.cli.click_commands import Argument, Option
from tests.unit.cli.conftest import Lakegate


def test_no_option_is_declared_twice() -> None:
    """Where two commands have an option or argument with the same names and help, it is the same object."""
    declared: defaultdict[tuple[object, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, function in commands():
        hints = typing.get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters:
            for each in getattr(hints[parameter], "__metadata__", ()):
                if isinstance(each, Option | Argument):
                    text = (type(each), parameter, each)
                    declared[tuple(map(str, text))][id(each)].add(name)

    twice = {text: list(found.values()) for text, found in declared.items() if len(found) > 1}
    assert not twice, "\n".join(map(str, twice.items()))


def test_what_is_required_is_asked_for(lakegate: Lakegate) -> None:
    """Without it no command begins."""
    result = lakegate("check", "orders.csv")

    assert (result.exit_code, "Missing option '--contract'" in result.stderr) == (2, True)

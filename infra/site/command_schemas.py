"""The JSON Schemas of what commands print with `--json`, derived from the dataclasses of their results.

`make published-schemas` writes docs/assets/commands.json.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from infra.site.published_schemas import derived
from lakegate.base.extension_points import load_extension, names
from lakegate.cli.click_commands import CommandGroup
from lakegate.cli.command_runner import CommandResult
from lakegate.cli.main import COMMANDS, POINT

FILE: Final = Path(__file__).parents[2] / "docs/assets/commands.json"


@cache
def schemas() -> dict[str, list[dict[str, Any]]]:
    """The schemas of each command, one for each form of its result; of those that the runner runs."""
    found = {name: _forms(function) for name, function in sorted(commands())}
    return {name: own for name, own in found.items() if own}


def commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each command by its words."""
    for name, place in COMMANDS.items():
        module, _, attribute = place.partition(":")
        if module.startswith("infra."):
            continue
        made = getattr(import_module(module), attribute) if attribute else load_extension(POINT, place)
        if not isinstance(made, CommandGroup):
            yield name, made
            continue
        yield from ((f"{name} {each}", function) for each, function in made.functions.items())
        yield from ((row, load_extension(POINT, row)) for row in names(POINT) if row.split(" ")[:-1] == [name])


def _forms(function: Callable[..., Any]) -> list[dict[str, Any]]:
    """The schema of each form of a command's result."""
    own = inspect.unwrap(function)
    written = types.SimpleNamespace(__annotations__={"return": own.__annotations__.get("return")})
    result = typing.get_type_hints(written, vars(sys.modules[own.__module__])).get("return")
    if typing.get_origin(result) is not CommandResult:
        return []
    (found,) = typing.get_args(result)
    if typing.get_origin(found) is tuple:
        return [{"type": "array", "items": {"anyOf": list(map(_schema, _classes(typing.get_args(found)[0])))}}]
    return list(map(_schema, _classes(found)))


def _classes(hint: Any) -> list[type]:  # noqa: ANN401 - a type
    """The dataclasses of a hint, but those of documents with a schema of their own."""
    classes = (
        argument
        for argument in typing.get_args(hint) or (hint,)
        if isinstance(argument, type) and is_dataclass(argument)
    )
    return [each for each in classes if not hasattr(each, "to_json")]


def _schema(cls: type) -> dict[str, Any]:
    """The schema of a result; members of a field that stand beside the others may have any name."""
    found = derived(cls)
    for field in fields(typing.cast("Any", cls)):
        if "beside" in field.metadata:
            del found["properties"][field.name]
            found["required"].remove(field.name)
            found["additionalProperties"] = True
    shape: dict[str, Any] = _shape({**found, "title": cls.__name__})
    return shape


def _shape(node: Any) -> Any:  # noqa: ANN401 - a part of a schema
    """A part of a schema without its texts: the code explains each dataclass and its fields."""
    if isinstance(node, dict):
        own = {key: each for key, each in node.items() if key != "description" or not isinstance(each, str)}
        return {key: _shape(each) for key, each in own.items()}
    return list(map(_shape, node)) if isinstance(node, list) else node


def text() -> str:
    """The file."""
    return json.dumps(schemas(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())

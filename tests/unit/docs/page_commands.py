"""The commands of a page, and how `aws` runs them: its options are the parameters of botocore's model of the service."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from botocore import xform_name

from lakegate.base.extension_points import ROOT

if TYPE_CHECKING:
    from botocore.model import Shape


def sections(page: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)
    return {heading.replace("`", ""): text for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def commands(text: str) -> list[str]:
    """The command lines of a text, in their order."""
    return re.findall(r"^ {4}((?:lakegate|aws) .+)$", text, re.MULTILINE)


def aws(line: str, names: Mapping[str, str], client: Callable[[str], Any]) -> dict[str, Any]:
    """Run one `aws` command with the client of a service; `$NAME` stands for one of the names."""
    line = re.sub(r"\$\(\(.*\)\)", lambda found: _shell(found[0]), line)
    words = [re.sub(r"\$(\w+)", lambda found: names[found[1]], word) for word in shlex.split(line)]
    service, operation, *rest = words[1:]
    made = client({"s3api": "s3"}.get(service, service))
    method = operation.replace("-", "_")
    model = made.meta.service_model
    shapes = model.operation_model(
        next(each for each in model.operation_names if xform_name(each) == method)
    ).input_shape.members
    given: dict[str, list[str]] = {}
    for word in rest:
        if word.startswith("--"):
            given[word.removeprefix("--").replace("-", "_")] = []
        elif given:
            next(reversed(given.values())).append(word)
    parameters = {xform_name(name): (name, shape) for name, shape in shapes.items()}
    request = {
        parameters[name][0]: _value(values, parameters[name][1]) for name, values in given.items() if name in parameters
    }
    for name in given.keys() - parameters.keys():  # a switch that is turned off
        request[parameters[name.removeprefix("no_")][0]] = False
    answer: dict[str, Any] = getattr(made, method)(**request)
    return answer


def _shell(text: str) -> str:
    """What a shell puts in the place of an expression."""
    return subprocess.run(["bash", "-c", f"echo {text}"], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603, S607 - of our pages


def _value(words: list[str], shape: Shape) -> Any:
    text = words[0] if words else "true"
    if shape.type_name == "list":
        return words
    if text.startswith("{"):
        return json.loads(text)
    if shape.type_name == "structure":
        pairs = dict(each.split("=", 1) for each in text.split(","))
        return {name: _value([value], shape.members[name]) for name, value in pairs.items()}  # type: ignore[attr-defined]
    if shape.type_name == "boolean":
        return text == "true"
    return int(text) if shape.type_name in {"integer", "long"} else text

"""The Terraform module and the CDK construct around the released template, with what follows from the template.

They deploy the template as it is and declare no resource of it. A parameter that nobody sets is not sent, so that the default of
the template counts. Types and conditions are those of the template, as far as Terraform's regular expressions (RE2) have them;
CloudFormation has the last word.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakegate.base.extension_points import ROOT
from lakegate.features.deployment.release_folder import ReleaseFolder

FOLDERS: Final = ("terraform", "cdk")
"""Of `infra` and of a release."""
PARAMETERS_FILE: Final = "cdk/lakegate_cdk/parameters.py"
SEPARATED: Final = re.compile(r"\((.*)\(,\(\?!\$\)\|\$\)\)\*", re.DOTALL)
"""The pattern of parameters with elements that commas separate; the group is that of an element."""
LOOK_AHEAD: Final = "(?!"
"""RE2 does not have it."""
OF_RELEASE: Final = "JobCode"
"""A parameter that every deployment sets."""
TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "yes": ("bool", "bool"),
    "number": ("number", "int"),
    "list": ("list(string)", "Sequence[str]"),
    "text": ("string", "str"),
}
"""By kind the types of Terraform and Python."""
VALUES: Final[Mapping[str, str]] = {
    "yes": '{0} == null ? null : {0} ? "yes" : "no"',
    "number": "{0} == null ? null : tostring({0})",
    "list": '{0} == null ? null : join(",", {0})',
    "text": "{0}",
}
"""By kind the text that CloudFormation gets, in Terraform."""


@dataclass(frozen=True, slots=True)
class WrappedParameter:
    """A parameter of the template, as Terraform and Python have it."""

    name: str
    declared: Mapping[str, Any]

    @property
    def snake(self) -> str:
        """Its name there."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()

    @property
    def kind(self) -> str:
        """A key of `TYPES`."""
        if set(self.declared.get("AllowedValues", ())) == {"yes", "no"}:
            return "yes"
        if self.declared["Type"] == "Number":
            return "number"
        return "list" if SEPARATED.fullmatch(self.declared.get("AllowedPattern", "")) else "text"

    @property
    def pattern(self) -> str | None:
        """The pattern of the text, or of each element; None where there is none, or RE2 cannot have it."""
        found = str(self.declared.get("AllowedPattern", ""))
        if self.kind == "list" and (separated := SEPARATED.fullmatch(found)):
            found = separated[1]
        return f"^(?:{found})$" if found and LOOK_AHEAD not in found else None

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """The smallest and the largest number."""
        return self.declared.get("MinValue"), self.declared.get("MaxValue")

    @property
    def choices(self) -> list[Any]:
        """The only values."""
        return [] if self.kind == "yes" else list(self.declared.get("AllowedValues", ()))

    @property
    def description(self) -> str:
        """That of the template, with the default."""
        default = str(self.declared["Default"])
        shown = {"yes": {"yes": "true", "no": "false"}.get(default), "list": None}.get(self.kind, default)
        return f"{self.declared['Description']} (default {shown})" if shown else str(self.declared["Description"])

    @property
    def conditions(self) -> Iterator[str]:
        """Terraform's conditions for a value that is set."""
        value = f"var.{self.snake}"
        if self.choices:
            yield f"contains({json.dumps(self.choices)}, {value})"
        if self.pattern and self.kind == "list":
            yield f"alltrue([for each in {value} : can(regex({_quoted(self.pattern)}, each))])"
        elif self.pattern:
            yield f"can(regex({_quoted(self.pattern)}, {value}))"
        least, most = self.bounds
        if least is not None:
            yield f"{value} >= {least}"
        if most is not None:
            yield f"{value} <= {most}"


def _quoted(text: str) -> str:
    """A string of Terraform's language: `${` and `%{` would begin a template."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def parameters(template: Mapping[str, Any]) -> list[WrappedParameter]:
    """All parameters, in the order of the template."""
    return [WrappedParameter(name, each) for name, each in template["Parameters"].items()]


def terraform_variables(template: Mapping[str, Any]) -> str:
    """variables.tf: a variable for each parameter, and the texts that CloudFormation gets."""
    blocks = ["# Written from template.yaml. A variable that is not set has the default of the template."]
    values = []
    for parameter in parameters(template):
        is_given = parameter.name == OF_RELEASE
        lines = [f'variable "{parameter.snake}" {{', f"  type        = {TYPES[parameter.kind][0]}"]
        lines += [f"  description = {_quoted(parameter.description)}"]
        lines += [] if is_given else ["  default     = null"]
        reason = f"{parameter.snake}: see AllowedPattern, MinValue, MaxValue, AllowedValues of {parameter.name} in template.yaml."
        for condition in parameter.conditions:
            lines += [
                "",
                "  validation {",
                f"    condition     = var.{parameter.snake} == null ? true : {condition}",
                f"    error_message = {_quoted(reason)}",
                "  }",
            ]
        blocks.append("\n".join([*lines, "}"]))
        values.append((parameter.name, VALUES[parameter.kind].format(f"var.{parameter.snake}")))
    width = max(len(name) for name, _ in values)
    rows = "\n".join(f"    {name.ljust(width)} = {value}" for name, value in values)
    blocks.append(
        f"locals {{\n  given = {{\n{rows}\n  }}\n"
        "  parameters = { for name, value in local.given : name => value if value != null }\n}"
    )
    return "\n\n".join(blocks) + "\n"


def terraform_outputs(template: Mapping[str, Any]) -> str:
    """outputs.tf: each output of the stack; null where its condition does not hold."""
    blocks = ["# Written from template.yaml."]
    for name, each in template["Outputs"].items():
        snake = WrappedParameter(name, {}).snake
        value = f'lookup(aws_cloudformation_stack.this.outputs, "{name}", null)'
        blocks.append(
            f'output "{snake}" {{\n  description = {_quoted(str(each["Description"]))}\n  value       = {value}\n}}'
        )
    return "\n\n".join(blocks) + "\n"


PARAMETERS: Final = '''"""Parameters and outputs of the released template. Written from template.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, kw_only=True)
class LakegateParameters:
    """Those that are None have the default of the template.

    Raises ValueError for a value that CloudFormation would refuse.
    """

FIELDS

    def __post_init__(self) -> None:
        for name, text in self.texts().items():
            _check(name, text)

    def texts(self) -> dict[str, str]:
        """The parameters that are set, as CloudFormation gets them."""
        given = {NAMES[each.name]: getattr(self, each.name) for each in fields(self)}
        return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: bool | int | str | Sequence[str]) -> str:  # noqa: FBT001 - of a parameter
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | str) else ",".join(value)


def _check(name: str, text: str) -> None:
    least, most = BOUNDS.get(name, (None, None))
    if name in CHOICES and text not in CHOICES[name]:
        raise ValueError(f"{name}: {text!r} is none of {CHOICES[name]}")
    if name in PATTERNS and not re.fullmatch(PATTERNS[name], text):
        raise ValueError(f"{name}: {text!r} does not have the form {PATTERNS[name]}")
    if (least is not None and int(text) < least) or (most is not None and int(text) > most):
        raise ValueError(f"{name}: {text} is not from {least} to {most}")


NAMES: Final[dict[str, str]] = NAMES_HERE
"""The parameters, by field."""
PATTERNS: Final[dict[str, str]] = PATTERNS_HERE
"""Their AllowedPattern."""
BOUNDS: Final[dict[str, tuple[int | None, int | None]]] = BOUNDS_HERE
"""Their MinValue and MaxValue."""
CHOICES: Final[dict[str, tuple[str, ...]]] = CHOICES_HERE
"""Their AllowedValues."""
OUTPUTS: Final[tuple[str, ...]] = OUTPUTS_HERE
"""Outputs of the stack; some by parameters only."""
'''


def cdk_parameters(template: Mapping[str, Any]) -> str:
    """parameters.py: a field for each parameter, and the texts that CloudFormation gets."""
    all_parameters = sorted(parameters(template), key=lambda each: each.name != OF_RELEASE)
    lines = []
    for parameter in all_parameters:
        default = "" if parameter.name == OF_RELEASE else " | None = None"
        text = parameter.description.replace("\\", "\\\\")
        lines += [f"    {parameter.snake}: {TYPES[parameter.kind][1]}{default}", f'    """{text}."""']
    bounds = {parameter.name: parameter.bounds for parameter in all_parameters if parameter.bounds != (None, None)}
    patterns = {
        name: each["AllowedPattern"] for name, each in template["Parameters"].items() if "AllowedPattern" in each
    }
    choices = {parameter.name: tuple(map(str, parameter.choices)) for parameter in all_parameters if parameter.choices}
    made = PARAMETERS
    for place, value in {
        "FIELDS": "\n".join(lines),
        "NAMES_HERE": repr({parameter.snake: parameter.name for parameter in all_parameters}),
        "PATTERNS_HERE": repr(patterns),
        "BOUNDS_HERE": repr(bounds),
        "CHOICES_HERE": repr(choices),
        "OUTPUTS_HERE": repr(tuple(template["Outputs"])),
    }.items():
        made = made.replace(place, value, 1)
    ruff = [
        str(Path(sys.executable).with_name("ruff")),
        "format",
        "--stdin-filename",
        str(ROOT / "infra" / PARAMETERS_FILE),
        "-",
    ]
    formatted = subprocess.run(ruff, input=made, capture_output=True, text=True, check=True)  # noqa: S603 - pinned
    return str(formatted.stdout)


def copy_wrappers(root: Path, target: Path) -> None:
    """Copy the module and the construct of the repository at `root` to a folder, with what follows from its template."""
    for name in FOLDERS:
        shutil.copytree(root / "infra" / name, target / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    write_files(ReleaseFolder(root).template, target)


def write_files(template: Mapping[str, Any], target: Path) -> None:
    """Write what follows from the template into the module and the construct below `target`."""
    (target / "terraform/variables.tf").write_text(terraform_variables(template))
    (target / "terraform/outputs.tf").write_text(terraform_outputs(template))
    (target / PARAMETERS_FILE).write_text(cdk_parameters(template))


if __name__ == "__main__":
    write_files(ReleaseFolder(ROOT).template, ROOT / "infra")

"""`lakegate explain`: a lint code or a kind of rule, with an example."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation
from lakegate.contracts.errors import InputError
from lakegate.contracts.lint.codes import CODES
from lakegate.contracts.words import did_you_mean, shown

FOLDER = "lakegate.cli.explanations"


@dataclass(frozen=True, slots=True)
class CodeExplanation:
    """A code of `lakegate lint`."""

    code: str
    level: str
    words: str
    """What a document must be."""
    bad: str
    """Parts of a document that the code is reported for."""
    message: str
    """What lint reports for them."""
    good: str
    page: str = "docs/codes.md"


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """A kind of rule."""

    rule: str
    words: str
    """What it requires of a delivery."""
    format: str
    """The format of the example's document: `odcs`, `dcs` or `dcm`."""
    example: str
    page: str = "docs/rules.md"


def explain(
    name: Annotated[
        str | None,
        typer.Argument(help="A code of lint, or a kind of rule; without it all are listed.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain a code of `lint`, or a kind of rule as reasons name it, with an example.

    Example: lakegate explain duplicate-field
    """
    known: dict[str, list[CodeExplanation | RuleExplanation]] = {}
    every: list[CodeExplanation | RuleExplanation] = [*codes(), *rules()]
    for each in every:
        known.setdefault(each.code if isinstance(each, CodeExplanation) else each.rule, []).append(each)
    found = every
    if name is not None:
        key = name if name in known else _kind(name)
        if key not in known:
            raise InputError(f"{shown(name)} is neither a code of lint nor a kind of rule.{did_you_mean(name, known)}")
        found = known[key]
    if as_json:
        terminal.print_json([asdict(each) for each in found])
        return
    console = terminal.answers()
    for line in map(_line, found) if name is None else (line for each in found for line in _paragraphs(each)):
        console.print(escaped(line), markup=False, soft_wrap=True)


def codes() -> list[CodeExplanation]:
    """Every code of lint, in the order of docs/codes.md."""
    examples = json.loads((files(FOLDER) / "codes.json").read_text(encoding="utf-8"))
    return [CodeExplanation(code, each.level.value, each.words, **examples[code]) for code, each in CODES.items()]


def rules() -> list[RuleExplanation]:
    """Every kind of rule, in the order of docs/rules.md."""
    import yaml  # noqa: PLC0415 - for this command alone

    written = yaml.safe_load((files(FOLDER) / "rules.yaml").read_text(encoding="utf-8"))
    return [RuleExplanation(kind, each["words"], each["in"], each["example"]) for kind, each in written.items()]


def _kind(rule: str) -> str:
    """The kind of a rule without an id of its own, as reasons name it: `required` of `order_id:required:1`."""
    return rule.partition("/")[0].rsplit(":", 2)[-2 if rule.count(":") > 1 else 0]


def _line(each: CodeExplanation | RuleExplanation) -> str:
    return f"{each.code if isinstance(each, CodeExplanation) else each.rule}: {each.words}"


def _paragraphs(each: CodeExplanation | RuleExplanation) -> list[str]:
    if isinstance(each, CodeExplanation):
        pairs = [("refused", each.bad), ("message", each.message), ("valid", each.good)]
        head = f"{each.code} ({each.level}): {each.words}"
    else:
        pairs = [(each.format.upper(), each.example)]
        head = f"{each.rule}: {each.words}"
    return [head, *(f"    {label:<9}{text}" for label, text in pairs), f"More: {each.page}"]

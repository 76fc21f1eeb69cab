"""`lakegate explain`: a code of lint or a kind of rule, with an example, or an outcome of a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Annotated, Any, TypeAlias

import typer

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.value_mistakes import MISTAKES
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


@dataclass(frozen=True, slots=True)
class OutcomeExplanation:
    """What a result finds about a file, a merge, or several rules at once."""

    outcome: str
    words: str
    """What it means, and what to do."""
    page: str


Explanation: TypeAlias = CodeExplanation | RuleExplanation | OutcomeExplanation


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A code of lint, a kind of rule, or the id of a reason; without it all are listed.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain a code of `lint`, a kind of rule, or a reason of a rejection, as they are printed.

    Example: lakegate explain duplicate-field
    """
    every: list[Explanation] = [*codes(), *rules(), *outcomes()]
    known: dict[str, list[Explanation]] = {}
    for each in every:
        known.setdefault(_name(each), []).append(each)
    found = every
    if name is not None:
        key = name if name in known else _kind(name)
        if key not in known:
            raise InputError(
                f"{shown(name)} is no code of lint, no kind of rule and no reason.{did_you_mean(name, known)}"
            )
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
    written = _written("rules.yaml")
    return [RuleExplanation(kind, each["words"], each["in"], each["example"]) for kind, each in written.items()]


def outcomes() -> list[OutcomeExplanation]:
    """Every outcome that is not one of a rule of the contract."""
    mistakes = {f"cause/{code}": f"Values are {each.words}." for code, each in MISTAKES.items()}
    return [
        OutcomeExplanation(each, words, _page(each)) for each, words in (_written("outcomes.yaml") | mistakes).items()
    ]


def _written(name: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - for this command alone

    written: dict[str, Any] = yaml.safe_load((files(FOLDER) / name).read_text(encoding="utf-8"))
    return written


def _page(outcome: str) -> str:
    if outcome in {"file/parts", "file/manifest"}:
        return "docs/producer.md"
    return "docs/odf.md" if outcome.startswith("merge/") or outcome == "file/late-events" else "docs/data.md"


def _name(each: Explanation) -> str:
    match each:
        case CodeExplanation():
            return each.code
        case RuleExplanation():
            return each.rule
        case OutcomeExplanation():
            return each.outcome


def _kind(rule: str) -> str:
    """The kind of a rule without an id of its own, as reasons name it: `required` of `order_id:required:1`."""
    return rule.partition("/")[0].rsplit(":", 2)[-2 if rule.count(":") > 1 else 0]


def _line(each: Explanation) -> str:
    return f"{_name(each)}: {each.words}"


def _paragraphs(each: Explanation) -> list[str]:
    pairs: list[tuple[str, str]] = []
    head = _line(each)
    if isinstance(each, CodeExplanation):
        pairs = [("refused", each.bad), ("message", each.message), ("valid", each.good)]
        head = f"{each.code} ({each.level}): {each.words}"
    elif isinstance(each, RuleExplanation):
        pairs = [(each.format.upper(), each.example)]
    return [head, *(f"    {label:<9}{text}" for label, text in pairs), f"More: {each.page}"]

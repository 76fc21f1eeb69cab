"""`lakegate explain`: a code of lint, a kind of rule, a setting or a term of contracts, with an example, or a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Annotated, Any, Final, TypeAlias

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_schemas import load
from lakegate.base.text import did_you_mean, quote
from lakegate.cli.click_commands import Argument
from lakegate.cli.command_runner import CommandResult, command
from lakegate.gate.delivery.delivery_row import CAUSE_TEXTS
from lakegate.lints.lint_codes import CODES
from lakegate.verdict.reasons import CODES as REASONS
from lakegate.verdict.value_mistakes import MISTAKES

FOLDER = "lakegate.cli.contracts.explanations"
RANGES: Final = {
    "boolean": "`true`, `false`",
    "number": "0 to 1",
    "integer": "a whole number from 1",
    "array": "a list of texts, each in quotes",
    "object": "a mapping",
}
"""The values of a setting, by its type in the schema."""
BLANKS = {" ": "a blank", "\u00a0": "a non-breaking blank (U+00A0)", "\u202f": "a narrow one (U+202F)"}
"""Values that nobody would see."""
SAMPLES: Final = {"integer": "100", "array": '["n/a"]'}
"""Examples of values of settings that have no default, by type; mappings have theirs in the schema (`x-sample`)."""


@dataclass(frozen=True, slots=True)
class CodeExplanation:
    """A code of `lakegate lint`."""

    code: str
    level: str
    words: str
    """The requirement for a document."""
    bad: str
    """Parts of a document that the code is reported for."""
    message: str
    """The message of lint for them."""
    good: str
    page: str = "docs/codes.md"


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """A kind of rule."""

    rule: str
    words: str
    """The requirement for a delivery."""
    format: str
    """The format of the example's document: `odcs`, `dcs` or `dcm`."""
    example: str
    page: str = "docs/rules.md"


@dataclass(frozen=True, slots=True)
class OutcomeExplanation:
    """A finding about a file, a merge, or several rules at once; a reason, code or status of the gate."""

    outcome: str
    words: str
    """The meaning, and the remedy."""
    page: str


@dataclass(frozen=True, slots=True)
class SettingExplanation:
    """A key of the `lakegate` extension."""

    setting: str
    """`onReject`, `csv.delimiter`."""
    words: str
    values: str
    default: str
    """As JSON; empty where there is none."""
    odcs: str
    """The place in a document of each format."""
    dcs: str
    dcm: str
    page: str = "docs/contracts.md"


@dataclass(frozen=True, slots=True)
class TermExplanation:
    """A word of documents that is no kind of rule."""

    term: str
    words: str
    format: str
    """The format of the example's document: `odcs`, `dcs` or `dcm`."""
    example: str
    page: str


Explanation: TypeAlias = CodeExplanation | RuleExplanation | OutcomeExplanation | SettingExplanation | TermExplanation


@command
def explain(
    name: Annotated[
        str | None,
        Argument(
            help="A code of lint, a kind of rule, a key of the extension such as csv.delimiter, a term, a reason, or a status;"
            " without it all are listed.",
        ),
    ] = None,
) -> CommandResult[tuple[Explanation, ...]]:
    """Explain a code, a kind of rule, a key of the extension, a term, a reason or a status, as commands print them.

    Example: lakegate explain duplicate-field
    """
    every: list[Explanation] = [*codes(), *rules(), *settings(), *terms(), *outcomes(), *printed()]
    known: dict[str, list[Explanation]] = {}
    for each in every:
        known.setdefault(_name(each), []).append(each)
    found = every
    if name is not None:
        folded = {key.casefold(): key for key in reversed(known)}
        key = name if name in known else folded.get(name.casefold(), _kind(name))
        if key not in known:
            raise InputError(
                f"{quote(name)} is no code of lint, no kind of rule, no key of the extension, no term, no reason and no status."
                f"{did_you_mean(name, known)} `lakegate explain` lists all."
            )
        found = known[key]
    lines = map(_line, found) if name is None else (line for each in found for line in _paragraphs(each))
    return CommandResult(tuple(found), lines)


def codes() -> list[CodeExplanation]:
    """Every code of lint, in the order of docs/codes.md."""
    examples = json.loads((files(FOLDER) / "codes.json").read_text(encoding="utf-8"))
    return [CodeExplanation(code, each.level.value, each.words, **examples[code]) for code, each in CODES.items()]


def rules() -> list[RuleExplanation]:
    """Every kind of rule, in the order of docs/rules.md."""
    written = _written("rules.yaml")
    return [RuleExplanation(kind, each["words"], each["in"], each["example"]) for kind, each in written.items()]


def settings() -> list[SettingExplanation]:
    """Every key of the extension, in the order of docs/contracts.md."""
    schema: dict[str, Any] = dict(load("lakegate-extension"))
    parts = schema["definitions"]
    keys = {key: schema for key, schema in parts["extension"]["properties"].items() if key != "csv"}
    keys |= {f"csv.{key}": schema for key, schema in parts["csv"]["properties"].items()}
    return [_setting(key, schema) for key, schema in keys.items()]


def _setting(key: str, schema: dict[str, Any]) -> SettingExplanation:
    listed = schema.get("enum", schema.get("examples", [schema["const"]] if "const" in schema else []))
    default = json.dumps(schema["default"]) if "default" in schema else ""
    sample = default or (_sample(listed[0]) if listed else schema.get("x-sample") or SAMPLES.get(_type(schema), '";"'))
    inner = f"{{{key}: {sample}}}" if "." not in key else f"{{csv: {{{key.removeprefix('csv.')}: {sample}}}}}"
    values = ", ".join(BLANKS.get(each, f"`{each}`") for each in listed) or _range(schema)
    return SettingExplanation(
        key,
        str(schema.get("description", "Its encoding, in any case.")),
        values,
        default,
        f"customProperties: [{{property: lakegate, value: {inner}}}]",
        f"config: {{lakegate: {inner}}}",
        f"specific: {{lakegate: {inner}}}",
    )


def _sample(value: object) -> str:
    """A value in a document; the schema has those of lists and mappings as texts."""
    return value if isinstance(value, str) and value[:1] in {"[", "{"} else json.dumps(value)


def _range(schema: dict[str, Any]) -> str:
    if "maximum" in schema and schema["type"] == "integer":
        return f"a whole number from {schema['minimum']} to {schema['maximum']}"
    return RANGES.get(_type(schema), "one character, in quotes")


def _type(schema: dict[str, Any]) -> str:
    """The type of a value, the first where null is one, too."""
    types = schema.get("type")
    return str(types[0] if isinstance(types, list) else types)


def terms() -> list[TermExplanation]:
    """Every term, in the order of explanations/terms.yaml."""
    return [
        TermExplanation(term, each["words"], each["in"], each["example"], each["page"])
        for term, each in _written("terms.yaml").items()
    ]


def outcomes() -> list[OutcomeExplanation]:
    """Every outcome that is not one of a rule of the contract."""
    mistakes = {f"cause/{code}": f"Values are {each.words}." for code, each in MISTAKES.items()}
    return [
        OutcomeExplanation(each, words, _page(each)) for each, words in (_written("outcomes.yaml") | mistakes).items()
    ]


def printed() -> list[OutcomeExplanation]:
    """Every reason, code and status that the gate, its commands and features print beside those."""
    sections: dict[str, dict[str, str]] = _written("gate_words.yaml")
    of_gate = [
        OutcomeExplanation(name, words, section["page"])
        for section in sections.values()
        for name, words in section.items()
        if name != "page"
    ]
    refused = [OutcomeExplanation(code, _sentence(words), "docs/producer.md") for code, words in REASONS.items()]
    failed = [
        OutcomeExplanation(each, f"An attempt failed: {words}.", "docs/operator.md")
        for each, words in CAUSE_TEXTS.items()
    ]
    registered: Iterator[Callable[[], Iterable[OutcomeExplanation]]] = load_extensions("explanations")
    return [*refused, *of_gate, *failed, *(each for of_feature in registered for each in of_feature())]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _written(name: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - for this command alone

    written: dict[str, Any] = yaml.safe_load((files(FOLDER) / name).read_text(encoding="utf-8"))
    return written


def _page(outcome: str) -> str:
    if outcome in {"file/parts", "file/manifest"}:
        return "docs/producer.md"
    if outcome == "file/period":
        return "docs/contracts.md"
    return "docs/odf.md" if outcome.startswith("merge/") or outcome == "file/late-events" else "docs/data.md"


def _name(each: Explanation) -> str:
    """Its first field."""
    return str(getattr(each, fields(each)[0].name))


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
    elif isinstance(each, SettingExplanation):
        pairs = [("values", each.values), *([("default", each.default)] if each.default else [])]
        pairs += [("ODCS", each.odcs), ("DCS", each.dcs), ("DCM", each.dcm)]
    elif isinstance(each, RuleExplanation | TermExplanation):
        pairs = [(each.format.upper(), each.example)]
    return [head, *(f"    {label:<9}{text}" for label, text in pairs), f"More: {each.page}"]

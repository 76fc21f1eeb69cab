"""Unknown, deprecated and foreign keys, with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakegate.base.errors import Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.documents.document_root import DEPRECATION
from lakegate.contract.documents.document_tree import Document, Notes, Place, address
from lakegate.contract.documents.key_table import CONSTRAINTS, FORMAT
from lakegate.contract.documents.odcs_quality import LISTS, OLDER, SPELLINGS, operators
from lakegate.contract.documents.schema_validation import NOT_FITTING, OTHER_WORDS, load, resolve_reference

if TYPE_CHECKING:
    Schema = Mapping[str, Any]


# ---- Advice for keys of another format ----
# The schema reports one problem per key; the advice merges the problems that one edit fixes.


OPTIONS = (
    *(*CONSTRAINTS, FORMAT, "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "timezone"),
)
"""Options of a logical type in ODCS. Other formats write them directly at the field."""
LISTED = "quality: [{metric: invalidValues, arguments: {validValues: [...]}, mustBe: 0}]"
WITH_ENUM = "v3.2.0"
WITHOUT_METRICS = ("v3.0.0", "v3.0.1", "v3.0.2")
NEWER_TYPES = {
    **dict.fromkeys(("timestamp", "time"), ("v3.1.0", "`logicalType: date` with the `physicalType` of the data")),
    "map": ("v3.2.0", "`logicalType: object`"),
    "vector": ("v3.2.0", "`logicalType: array`"),
}
"""Logical types of ODCS with the version that they came with, and what to write in an older one."""
ARGUMENTS = (
    "properties",
    "validValues",
    "missingValues",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
)
"""Arguments of the metrics of ODCS."""


def advise_on_keys(problems: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems of a schema with advice; problems with one cause are merged."""
    causes = (problem for problem in problems if not _follows_from_operator(document, problem))
    merged = merge_by_owner(
        causes, lambda cause: _older_rule(document, cause), lambda rule: _metric_of(rule["rule"].written)
    )
    return (_mend_problem(document, problem) for problem in merged)


def merge_by_owner(
    problems: Iterable[Problem], owner_of: Callable[[Problem], Place | None], words: Callable[[Place], str]
) -> Iterator[Problem]:
    """Replace all problems of an owner by one `missing-key` problem with the message `words(owner)`; keep the others."""
    reported: set[str] = set()
    for problem in problems:
        place = owner_of(problem)
        if place is None:
            yield problem
        elif place.path not in reported:
            reported.add(place.path)
            yield Problem("missing-key", place.path, place.mark.line, words(place))


def _follows_from_operator(document: Document, problem: Problem) -> bool:
    """Whether a key of a custom rule does not fit because an operator stands beside it, which is reported itself."""
    place = document.at(problem.path)
    rule = document.at(address(place.steps[:-1]))
    is_custom = rule.steps[-2:-1] == ("quality",) and rule["type"].text == "custom"
    return problem.code == NOT_FITTING and is_custom and place.steps[-1] not in SPELLINGS and bool(operators(rule))


def _older_rule(document: Document, problem: Problem) -> Place | None:
    """The quality rule of a problem, if it has the key `rule` of ODCS 3.0 in a document of a later version."""
    if document.top["apiVersion"].written in (*WITHOUT_METRICS, "") or ".quality[" not in problem.path:
        return None
    stem, _, rest = problem.path.rpartition(".quality[")
    place = document.at(f"{stem}.quality[{rest.partition(']')[0]}]")
    return place if place["rule"].text is not None and not place["metric"].present else None


def _metric_of(rule: str) -> str:
    if rule == "validValues":
        form = "write `metric: invalidValues` with `arguments: {validValues: [...]}` and `mustBe: 0`"
    else:
        form = f"write `metric: {OLDER.get(rule, rule)}` and an operator, e.g. `mustBe: 0`"
    return f"The key `rule` belongs to ODCS 3.0: {form}."


def _mend_problem(document: Document, problem: Problem) -> Problem:
    place = document.at(problem.path)
    key = str(place.steps[-1]) if place.steps else ""
    advice = ""
    if problem.code == "unknown-key" and place.steps[-3:-2] == ("quality",):
        advice = _of_metric(key)
    elif problem.code == NOT_FITTING and place.steps[-3:-2] == ("quality",) and key in SPELLINGS:
        advice = _of_operator(document.at(address(place.steps[:-1])), key)
    elif problem.code == "unknown-key" and place.steps == ("quality",):
        advice = "Rules of quality stand at a table of `schema`, or at one of its properties: move `quality` there."
    elif problem.code == "unknown-key" and "properties" in place.steps and place.steps[:1] == ("schema",):
        advice = _of_property(document, place, key)
    elif problem.code == "not-allowed" and key == "logicalType" and place.written in NEWER_TYPES:
        version, older = NEWER_TYPES[place.written]
        advice = (
            f"The type {quote(place.written)} came with ODCS {version[1:4]}: say `apiVersion: {version}`, or {older}."
        )
    elif problem.code == "wrong-type" and key in SPELLINGS and place.written.strip().endswith("%"):
        advice = _of_percent(document.at(problem.path.removesuffix(f".{key}")), place.written.strip(" %"))
    elif problem.code == "wrong-type" and place.steps[-2:-1] == ("enum",):
        is_mapping = document.top["apiVersion"].present
        form = f"{{value: {place.written}}}" if is_mapping else f'"{place.written}"'
        advice = f"Write `{form}` here, not a {'text' if is_mapping else 'value without quotes'}."
    return replace(problem, message=advice) if advice else problem


def _of_operator(rule: Place, key: str) -> str:
    """Advice for an operator beside something that it does not compare."""
    if rule["type"].text == "custom":
        return f"The key {quote(key)} is no threshold of a custom check: write it into `implementation`, in its words."
    if rule["type"].text in {None, "library"} and not rule["metric"].present:
        return f"The key {quote(key)} compares a metric: write one beside it, such as `metric: rowCount`."
    return ""


def _of_metric(key: str) -> str:
    """Advice for an argument of a metric that stands beside it, by its name or a usual other word."""
    known = {entry.casefold(): entry for entry in ARGUMENTS}
    argument = known.get(key.casefold()) or known.get(OTHER_WORDS.get(key.casefold(), "").casefold())
    if argument is None:
        return ""
    return f"The key {quote(key)} is an argument of the metric: write `arguments: {{{argument}: …}}`."


def _of_property(document: Document, place: Place, key: str) -> str:
    if key in OPTIONS and place.steps[-2] == "logicalTypeOptions":
        logical = document.at(address(place.steps[:-2]))["logicalType"].text
        return f"The option {quote(key)} is none of the type {quote(logical)}: say another `logicalType`, or remove it."
    if key in OPTIONS:
        return f"The key {quote(key)} is an option of the type: write it into `logicalTypeOptions`."
    if key != "enum":
        return ""
    version = document.top["apiVersion"].written
    own = "" if version in WITHOUT_METRICS else f"write `{LISTED}`, or "
    return f"The key `enum` came with ODCS 3.2: {own}say `apiVersion: {WITH_ENUM}` and `enum: [{{value: ...}}]`."


def _of_percent(rule: Place, number: str) -> str:
    if rule["type"].text == "sql":
        return f"Write a number here, `{number}`: the query itself answers in percent."
    return f"Write a number here, `{number}`, and `unit: percent` beside it."


# ---- Keys that the schema does not define ----


ALTERNATIVES = ("allOf", "anyOf", "oneOf")
CONDITIONS = ("then", "else")
FREE = (
    "config",
    "customProperties",
    "implementation",
    "arguments",
    "specific",
    "accessConfiguration",
    "args",
    "security",
)
"""Keys with free content."""
EDITOR_SCHEMA = "$schema"
"""The key by which an editor finds the JSON Schema of a document."""
OWN_ROOT_KEYS = (DEPRECATION, EDITOR_SCHEMA, "config")
"""Keys of the root that Lakegate reads although no schema defines them."""
READ_KEYS = {
    "policies": ("name",),
    "definitions": ("enum", "$ref"),
    "models": ("additionalFields",),
    "quality": ("metric", "arguments", "unit", "id", "name", "dimension", "scheduler", "schedule", *LISTS),
    "servers": ("driver",),
}
"""Keys that are read although a schema does not define them, by the key of their owner."""
OLDER_ROOT_KEYS = {
    "quality": "write it at the model or at the field.",
    "examples": "write them at the model or at the field.",
}
"""Keys of the root in DCS before 1.1.0."""
KEPT = "unknown-key-kept"
ADVICE = {"rule": "write `metric`."}
DEFAULT_ADVICE = "see the format's documentation."
DEPRECATED_KEYS = ("deprecated", "deprecationMessage")


def warn_unknown_keys(document: Document, schema: str, notes: Notes) -> None:
    """Warn about each key that the schema of that name allows without defining it, or declares deprecated."""
    refused = {problem.path for problem in notes.errors}
    for place, known in _below(document.top, (load(schema),), _Forms(load(schema))):
        for key, entry in place.entries.items():
            if key in known:
                schemas = known[key]
                if any(word in schema for schema in schemas for word in DEPRECATED_KEYS):
                    name = str(entry.steps[-1])
                    advice = next(
                        (str(schema[DEPRECATED_KEYS[1]]) for schema in schemas if DEPRECATED_KEYS[1] in schema),
                        ADVICE.get(name, DEFAULT_ADVICE),
                    )
                    notes.warning(
                        "older-key",
                        entry,
                        f"The key {quote(entry.steps[-1])} is out of date: {advice[:1].lower()}{advice[1:]}",
                    )
            elif not place.steps and key in OLDER_ROOT_KEYS and document.top["dataContractSpecification"].present:
                notes.warning("older-key", entry, f"The key {quote(key)} is out of date: {OLDER_ROOT_KEYS[key]}")
            elif not _is_read(place, key) and refused.isdisjoint((entry.path, place.path, _kind_of(place))):
                hint = did_you_mean(key, sorted(known))
                notes.warning(KEPT, entry, f"The key {quote(key)} is kept but has no meaning here.{hint}")


def _kind_of(place: Place) -> str:
    """The path of the key that decides which keys a mapping has: the type of a property, for its options."""
    owner = place.steps[:-1] if place.steps[-1:] == ("logicalTypeOptions",) else place.steps
    return address((*owner, "logicalType" if owner != place.steps else "type"))


def is_misspelt(problem: Problem) -> bool:
    """Whether a warning is about an unknown key that resembles a known one: what it holds may be meant as rules."""
    return problem.code == KEPT and problem.message.endswith("?")


def _is_read(place: Place, key: str) -> bool:
    if not place.steps:
        return key in OWN_ROOT_KEYS
    return key in READ_KEYS.get(str(place.steps[-2:-1][0]) if len(place.steps) > 1 else "", ())


@dataclass(frozen=True, slots=True)
class _Form:
    """The combined content of the schemas for one value."""

    known: Mapping[str, tuple[Schema, ...]]
    """The keys that they define, with the schemas of each."""
    others: tuple[Schema, ...]
    """The schemas of all other keys; empty if there are none."""
    items: tuple[Schema, ...]


@dataclass(slots=True)
class _Forms:
    """A cache of the forms of one schema file."""

    root: Schema
    found: dict[tuple[int, ...], _Form] = field(default_factory=dict)

    def form(self, schemas: tuple[Schema, ...]) -> _Form:
        key = tuple(map(id, schemas))
        if key not in self.found:
            self.found[key] = self._form([part for schema in schemas for part in self._parts(schema)])
        return self.found[key]

    def _form(self, parts: list[Schema]) -> _Form:
        known: dict[str, tuple[Schema, ...]] = {}
        for part in parts:
            for key, schema in part.get("properties", {}).items():
                known[key] = (*known.get(key, ()), *((schema,) if isinstance(schema, dict) else ()))
        others, items = (
            tuple(part[key] for part in parts if isinstance(part.get(key), dict))
            for key in ("additionalProperties", "items")
        )
        return _Form(known, others, items)

    def _parts(self, schema: Schema) -> Iterator[Schema]:
        """A schema and all others for the same value: references, alternatives and conditions."""
        if "$ref" in schema:
            yield from self._parts(resolve_reference(self.root, schema["$ref"]))
        yield schema
        for keyword in ALTERNATIVES:
            for entry in schema.get(keyword, ()):
                yield from self._parts(entry)
        for keyword in CONDITIONS:
            if keyword in schema:
                yield from self._parts(schema[keyword])


def _below(
    place: Place, schemas: tuple[Schema, ...], forms: _Forms
) -> Iterator[tuple[Place, Mapping[str, tuple[Schema, ...]]]]:
    """Every mapping that a schema describes, with the keys it defines, except those with free keys."""
    form = forms.form(schemas)
    entries = place.entries
    if form.known and entries and not form.others:
        yield place, form.known
    for key, entry in entries.items():
        below = form.known.get(key, form.others) if key not in FREE else ()
        if below:
            yield from _below(entry, below, forms)
    for item in place.items if form.items else ():
        yield from _below(item, form.items, forms)

"""Reads a document and runs all lints over it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from lakegate.base.errors import ContractError, Problem
from lakegate.base.json_codec import OMITTED
from lakegate.base.text import limit_hints, quote
from lakegate.contract.contract_model import NESTED_KIND, Contract, Rule
from lakegate.contract.documents.dcm import UNNAMED_TARGET
from lakegate.contract.documents.document_formats import NO_VARIABLES, read_alone
from lakegate.contract.documents.document_tree import Document, Notes, Place, Step, steps_of
from lakegate.contract.documents.key_table import DOES_NOT_APPLY
from lakegate.contract.documents.read_document import LARGEST_BYTES
from lakegate.contract.documents.schema_validation import WRONG_TYPE
from lakegate.lints.findings import MAX_FINDINGS, LintLevel
from lakegate.lints.lint_codes import LINTS
from lakegate.plan.check import Check
from lakegate.rules.check_builder import NEVER_MEASURED
from lakegate.rules.compile_plan import NO_PARTS, OF_UNION, OF_WHOLE, Compiled, compile_rules, with_parts

Unreadable = Mapping[str, str]
"""Inputs that cannot be read, each with the reason."""
NOTHING: Unreadable = MappingProxyType({})
UNREADABLE = "unreadable"
"""The code of such an input in JSON; no document has it."""


@dataclass(frozen=True, slots=True)
class ReportedProblem:
    """A problem, and the document that has it."""

    file: str | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """Only where there are several documents, or this one cannot be read."""
    code: str
    path: str
    line: int | None
    message: str
    column: int | None


@dataclass(frozen=True, slots=True)
class LintReport:
    """The problems of one document or of many, as `lint --json` has them."""

    valid: bool
    errors: tuple[ReportedProblem, ...]
    warnings: tuple[ReportedProblem, ...]


def lint_report(judged: dict[str, Examined], unreadable: Unreadable = NOTHING) -> LintReport:
    """The problems of all documents, with what cannot be read."""
    several = len(judged) + len(unreadable) > 1

    def reported(problem: Problem, name: str, *, named: bool = several) -> ReportedProblem:
        return ReportedProblem(file=name.encode("utf-8", "replace").decode() if named else None, **asdict(problem))

    missing = [reported(Problem(UNREADABLE, "$", None, why), name, named=True) for name, why in unreadable.items()]
    return LintReport(
        not unreadable and all(value.valid for value in judged.values()),
        (*missing, *(reported(problem, name) for name, value in judged.items() for problem in value.errors)),
        tuple(reported(problem, name) for name, value in judged.items() for problem in value.warnings),
    )


# ---- Semantics of a contract ----
# Every rule is compiled too: refusals of the compiler are errors here, and skipped rules are warnings. Codes are stable: tools
# may filter by them.


NOT_MEASURED = "not-measured"
"""The code of a warning: a rule compiles to a skipped check."""
QUIET = ("text", "serviceLevel")
"""Kinds that are never measured, or about which another check warns."""
NAMED_BY_READERS = ("date-format", DOES_NOT_APPLY, UNNAMED_TARGET)
"""Codes with which readers warn of rules that mean nothing, or that are not compared: they refuse no publication."""
OF_ONE_VALUE = ("unquoted-surprise", "schedule-of-rule", "pattern-unanchored", "pattern-not-linear")
"""Warnings about a value that are redundant if the value is refused."""
OF_WHAT_LACKS = ("no-dataset", "no-field", "no-type", "parts-missing", "enum-without-values")
"""Warnings that a part is missing, which is there where it is refused."""
MISSING_KEY, NAME = "missing-key", "name"
NAMED_PARTS = ("schema", "properties", "children")
"""Keys of lists whose elements have names: datasets and fields."""
DESCRIBING = (None, "distanceMetric", "embeddingModel")
"""Options of nested values that describe them; None is the kind itself, of values that the contract leaves open."""
OF_ALL_FIELDS = ("custom", "sql", "requiredMember")
"""Kinds that may read other fields than those they are attached to."""


def lint(contract: Contract, document: Document, notes: Notes) -> None:
    """Add semantic errors and warnings of a contract to `notes`; of a part that is refused nothing more is said."""
    blamed = {problem.path for problem in notes.errors}
    parts = frozenset(_refused_parts(document, notes.errors))
    unknown = [
        entry
        for code, entry in _find_problems(contract, document)
        if not _is_refused_rule(document.at(entry.path), notes)
        and not (LINTS[code].level is LintLevel.ERROR and entry.path in blamed)
        and not (code in NEVER_MEASURED and notes.blames(document.at(entry.path)))
    ]
    errors = [entry for entry in unknown if LINTS[entry.code].level is LintLevel.ERROR]
    refused, named = _compile_rules(contract, document)
    notes.warnings.extend(entry for entry in unknown if LINTS[entry.code].level is LintLevel.WARNING)
    notes.errors.extend(_leave_out_parts(parts, errors))
    notes.errors.extend(_leave_out_parts(parts, _leave_out_blamed(notes.errors, refused)))
    never_measured = [warning for warning in notes.warnings if warning.code in {*NEVER_MEASURED, *NAMED_BY_READERS}]
    notes.warnings.extend(_leave_out_blamed([*notes.errors, *never_measured], named))
    wrong, lacking = {problem.path for problem in notes.errors}, {part[:-1] for part in parts}
    notes.warnings[:] = [
        problem
        for problem in _leave_out_parts(parts, notes.warnings)
        if not (problem.code in OF_ONE_VALUE and problem.path in wrong)
        and not (problem.code in OF_WHAT_LACKS and steps_of(problem.path) in lacking)
    ]


def _refused_parts(document: Document, errors: Iterable[Problem]) -> Iterator[tuple[Step, ...]]:
    """The places of values of a wrong type, and of fields and datasets without a name that can be read."""
    for error in errors:
        steps = steps_of(error.path)
        owner = steps[:-1] if error.code == WRONG_TYPE and steps[-1:] == (NAME,) else steps
        if error.code == WRONG_TYPE:
            yield steps
        is_of_name = error.code in {WRONG_TYPE, MISSING_KEY} and document.at(error.path)[NAME].text is None
        if is_of_name and len(owner) > 1 and owner[-2] in NAMED_PARTS:
            yield owner


def _leave_out_parts(parts: Collection[tuple[Step, ...]], problems: Iterable[Problem]) -> list[Problem]:
    """The problems that lie in none of some parts."""
    if not parts:
        return list(problems)
    steps = ((problem, steps_of(problem.path)) for problem in problems)
    return [step for step, own in steps if not any(own[:length] in parts for length in range(1, len(own) + 1))]


def _is_refused_rule(place: Place, notes: Notes) -> bool:
    """Whether a place is a quality rule with an error in it: what it means is not known before that is mended."""
    return place.steps[-2:-1] == ("quality",) and notes.blames(place)


def _find_problems(contract: Contract, document: Document) -> Iterator[tuple[str, Problem]]:
    for code, lint in LINTS.items():
        for path, message in islice(lint.find(contract, document), MAX_FINDINGS):
            yield code, _locate_problem(document, code, path, message)


def _locate_problem(document: Document, code: str, path: str, message: str) -> Problem:
    """The problem at the longest part of its path that exists in the document."""
    place = document.top
    for step in document.at(path).steps:
        if not place[step].present:
            break
        place = place[step]
    return Problem(code, place.path, place.mark.line, message)


def _leave_out_blamed(known: Iterable[Problem], problems: Iterable[Problem]) -> list[Problem]:
    """The problems without another problem at their path or below it: the compiler reports whole rules."""
    steps = [steps_of(problem.path) for problem in known]
    blamed = {step[:length] for step in steps for length in range(len(step) + 1)}
    return [problem for problem in problems if steps_of(problem.path) not in blamed]


def _compile_rules(contract: Contract, document: Document) -> tuple[list[Problem], list[Problem]]:
    """The errors of refused rules and the warnings of skipped ones."""
    refused: list[Problem] = []
    named: list[Problem] = []
    for dataset in contract.datasets:
        fields = {field.name: replace(field, parts=()) for field in with_parts(dataset.fields)}
        for rule in dataset.rules:
            own = () if rule.kind in OF_ALL_FIELDS else rule.fields
            concerned = tuple(fields[name] for name in own if name in fields) or dataset.fields
            compiled = compile_rules(contract, replace(dataset, rules=(rule,), fields=concerned))
            refused += compiled.refused
            named += () if compiled.refused else _explain_skipped(rule, compiled)
    return [_as_sentence(document, problem) for problem in dict.fromkeys(refused)], [
        _as_sentence(document, problem) for problem in dict.fromkeys(named)
    ]


def _as_sentence(document: Document, problem: Problem) -> Problem:
    return _locate_problem(document, problem.code, problem.path, _sentence(problem.message))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}{'' if words.endswith('?') else '.'}"


def _is_quiet(rule: Rule, check: Check) -> bool:
    """Whether nothing is to be measured, or another warning says that nothing is (`nested-fields`: of a CSV file)."""
    if rule.kind == NESTED_KIND:
        return rule.arguments.get("option") in DESCRIBING and check.skip != OF_UNION
    return rule.kind in QUIET or (rule.kind in OF_WHOLE and check.skip == NO_PARTS)


def _explain_skipped(rule: Rule, compiled: Compiled) -> Iterator[Problem]:
    """The reason why a rule is skipped: its own problem, or that of a check."""
    yield from compiled.unmeasured
    explained = {entry.message.rstrip(".") for entry in compiled.unmeasured}
    for check in compiled.checks:
        if check.skip is not None and check.skip not in explained and not _is_quiet(rule, check):
            message = f"The rule is named and not measured: {check.skip}{'' if check.skip.endswith('?') else '.'}"
            yield Problem(NOT_MEASURED, rule.origin.path, rule.origin.line, message)


# ---- Reading of contract documents ----
#     read(text)      the contract, or ContractError with every error at once
#     examine(text)   all errors and warnings, and the contract as far as it can be read
#
# A document that inherits is read by `lakegate.inheritance.inherited_documents`, which passes a `complete` that adds what
# is inherited.


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of reading a document; problems in order of lines."""

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    lines: tuple[str, ...] = ()
    """The lines of the document, to show them beside problems; empty if it is too large."""
    contract: Contract | None = None
    """The contract as far as it could be read; None if the format or version is unknown."""
    document: Document | None = None
    """None if it could not be parsed."""

    @property
    def valid(self) -> bool:
        """Whether the document has no errors."""
        return not self.errors

    @property
    def unmeasured(self) -> tuple[Problem, ...]:
        """The warnings about rules that can never be measured: their checks are always skipped."""
        return tuple(warning for warning in self.warnings if warning.code in NEVER_MEASURED)


Complete = Callable[[Contract, Document, Notes], Contract]
"""Adds to a contract what it inherits, and to the notes what is weaker than that."""
UNKNOWN_PARENT = "unknown-parent"
WHERE_PARENTS_ARE = "parents are read from `--parents` and from the registry"


def without_parents(contract: Contract, document: Document, notes: Notes) -> Contract:
    """The contract, with an error if it inherits."""
    if contract.inherits is not None:
        place = document.at(contract.inherits.origin.path)
        notes.error(UNKNOWN_PARENT, place, f"{quote(contract.inherits.name)} is not known here: {WHERE_PARENTS_ARE}.")
    return contract


def examine(text: bytes, variables: Mapping[str, str] = NO_VARIABLES, complete: Complete = without_parents) -> Examined:
    """Check the syntax, the schema and the semantics of a document, and return all problems at once.

    `variables` are the values of `${NAME}`, for versions that support variables.
    """
    with limit_hints():
        try:
            found = read_alone(text, variables)
        except ContractError as error:
            return Examined(
                error.problems,
                (),
                tuple(text.decode(errors="replace").splitlines()) if len(text) <= LARGEST_BYTES else (),
            )
        document, contract, notes = found.document, found.contract, Notes([*found.errors], [*found.warnings])
        if contract is not None:
            contract = complete(contract, document, notes)
            lint(contract.with_own_common, document, notes)
    errors, warnings = _in_order(document, notes.errors), _in_order(document, notes.warnings)
    return Examined(errors, warnings, document.lines, contract, document)


def read(text: bytes, variables: Mapping[str, str] = NO_VARIABLES) -> Contract:
    """The contract in a document; ContractError with every error at once."""
    examined = examine(text, variables)
    if examined.contract is None or examined.errors:
        raise ContractError(examined.errors)
    return examined.contract


def _in_order(document: Document, problems: list[Problem]) -> tuple[Problem, ...]:
    placed = dict.fromkeys(_add_column(document, problem) for problem in problems)
    return tuple(sorted(placed, key=lambda problem: (problem.line or 0, problem.path)))


def _add_column(document: Document, problem: Problem) -> Problem:
    """The problem with its column, if its path leads to its line."""
    mark = document.at(problem.path).mark
    return replace(problem, column=mark.column) if mark.line == problem.line else problem

"""`lakegate explain`: lint codes and kinds of rules with examples, and reasons of rejections."""

from __future__ import annotations

import ast
import json
import re

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.contracts.explain_command import (
    RuleExplanation,
    SettingExplanation,
    TermExplanation,
    codes,
    outcomes,
    printed,
    rules,
    settings,
    terms,
)
from lakegate.cli.main import app
from lakegate.lints.lint_codes import CODES
from lakegate.lints.linter import examine
from lakegate.rules.rule_kinds import RULES
from lakegate.verdict.reasons import CODES as REASONS
from lakegate.verdict.value_mistakes import MISTAKES
from tests.unit.lints.examples import document
from tests.unit.lints.page import EXPLANATIONS, explanations

WRITTEN = [each.outcome for each in outcomes()]
CAUSES = {
    *("column-names", "missing-columns", "index-column", "column-types", "header-repeated", "blank-records"),
    *("null-word", "blanks", "quoted", "total-records", "non-breaking", "garbled", "empty", "too-large", "separators"),
    *("unquoted", "nested", "leading-zeros", "case", "lost-word"),
    *MISTAKES,
}
PLACES = {
    "foreignKey": "properties",
    "jsonSchema": "columns",
    **dict.fromkeys(("rowCount", "duplicateValues", "sql", "text"), "quality"),
    **dict.fromkeys(("serviceLevel", "freshness", "latency", "retention", "frequency"), "top"),
}


def run(*words: str) -> str:
    answer = CliRunner().invoke(app, ["explain", *words], catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


def test_every_code_and_every_kind_of_rule_is_explained() -> None:
    """The lists are those of the linter and of the compiler, and the examples of codes are those of its tests."""
    assert [each.code for each in codes()] == list(CODES)
    assert {each.rule for each in rules()} == set(RULES)
    assert EXPLANATIONS.read_text() == explanations()


def place(each: RuleExplanation | TermExplanation) -> str:
    usual = {"odcs": "properties", "dcs": "fields", "dcm": "rules"}[each.format]
    name = each.rule if isinstance(each, RuleExplanation) else each.term
    return PLACES.get(name, usual)


@pytest.mark.parametrize("each", rules(), ids=lambda each: each.rule)
def test_an_example_is_valid_and_of_its_kind(each: RuleExplanation) -> None:
    """A contract with the example has no error, and has a rule of the kind."""
    examined = examine(document(each.format, {place(each): each.example}))

    assert examined.errors == ()
    assert examined.contract is not None
    kinds = {rule.kind for dataset in examined.contract.datasets for rule in dataset.rules}
    assert each.rule in kinds


@pytest.mark.parametrize("each", terms(), ids=lambda each: each.term)
def test_an_example_of_a_term_is_valid(each: TermExplanation) -> None:
    """A contract with the example has no error and no warning."""
    examined = examine(document(each.format, {place(each): each.example}))

    assert (examined.errors, examined.warnings) == ((), ())


@pytest.mark.parametrize("each", settings(), ids=lambda each: each.setting)
def test_a_setting_is_explained_where_documents_have_it(each: SettingExplanation) -> None:
    """The place in each format is one that lint accepts."""
    answer = run(each.setting)
    examined = [examine(document(form, {"top": getattr(each, form)})) for form in ("odcs", "dcs", "dcm")]

    assert [problem for one in examined for problem in one.errors if problem.code.startswith("extension-")] == []
    assert f"{each.setting}: {each.words}\n    values   {each.values}\n" in answer
    assert f"    ODCS     {each.odcs}\n    DCS      {each.dcs}\n    DCM      {each.dcm}\n" in answer


def test_every_key_that_a_message_names_is_explained() -> None:
    """A message that asks for `csv.delimiter` or `onReject` leads to where it is written."""
    known = {each.setting for each in settings()}
    texts = [path.read_text() for path in (ROOT / "lakegate").rglob("*.py")]
    named = {each for text in texts for each in re.findall(r"\b(csv\.[a-z]+[A-Z]?[A-Za-z]+)\b", text)}

    assert {"csv.delimiter", "csv.header"} <= named
    assert named & {f"csv.{each.partition('.')[2]}" for each in known} == named & {
        each for each in known if "." in each
    }


def test_a_code_is_explained_with_a_bad_and_a_good_example() -> None:
    """What the document must be, what is refused with which message, and what is valid."""
    assert run("duplicate-field") == (
        "duplicate-field (error): The names of a dataset's fields are unique, ignoring case: engines do not distinguish them.\n"
        "    refused  DCM: {name: N, dataType: text}\n"
        "    message  The field `N` is described twice: keep one.\n"
        "    valid    DCM: {name: m, dataType: text}\n"
        "More: docs/codes.md\n"
    )


@pytest.mark.parametrize(
    "name", ["required", "order_id:required:1", "order_id:required:1/order_id", "a:b:required:2/x"]
)
def test_a_rule_is_found_by_its_kind_and_as_reasons_name_it(name: str) -> None:
    """The id of a check in a rejection can be copied into the command."""
    assert run(name).splitlines()[0] == "required: No value is missing."


def test_every_outcome_that_the_code_has_is_explained() -> None:
    """Each id in the texts of the code, in the order of one list, without those that only documents have."""
    texts = [path.read_text() for path in (ROOT / "lakegate").rglob("*.py")]
    written = {each for text in texts for each in re.findall(r"""["'](?:file|merge)/[a-z][a-z-]+""", text)}
    of_file = {each for text in texts for each in re.findall(r'_of_file\(\s*"([a-z-]+)"', text)}
    merged = {f"file/{each.removeprefix('merge/')}" for each in WRITTEN if each.startswith("merge/")}
    found = {each[1:] for each in written} | {f"file/{each}" for each in of_file} - merged

    assert {each for each in WRITTEN if not each.startswith("cause/")} == found
    assert {each.removeprefix("cause/") for each in WRITTEN if each.startswith("cause/")} == CAUSES


def test_an_outcome_is_found_as_reasons_name_it() -> None:
    """The id of a reason can be copied into the command, with what follows it."""
    assert run("merge/late-snapshot") == (
        "merge/late-snapshot: A newer snapshot was accepted before, and this one changes nothing. "
        "`lateEvents` says whether it is accepted. Deliver the newest snapshot.\nMore: docs/odf.md\n"
    )
    assert run("cause/percent") == (
        "cause/percent: Values are written with a percent sign: write the number alone.\nMore: docs/data.md\n"
    )


def test_everything_is_listed() -> None:
    """Without a name each code and kind is one line; for machines each is an object."""
    numbers = map(len, (CODES, RULES, settings(), terms(), outcomes(), printed()))
    assert len(run().splitlines()) == sum(numbers)
    assert json.loads(run("--json"))[-1] == json.loads(run(printed()[-1].outcome, "--json"))[-1]
    assert json.loads(run("required", "--json"))[0]["example"] == "{name: x, logicalType: string, required: true}"


@pytest.mark.parametrize("name", sorted(set(CODES) & set(RULES)))
def test_a_name_of_both_is_explained_as_both(name: str) -> None:
    """A code of lint that is also a kind of rule has two explanations."""
    assert [set(each) & {"code", "rule"} for each in json.loads(run(name, "--json"))] == [{"code"}, {"rule"}]


def test_an_unknown_name_gets_the_nearest() -> None:
    """A typing mistake is answered with what was probably meant."""
    with pytest.raises(InputError, match=r"`minimun` is no code .* Did you mean `minimum`"):
        run("minimun")


# --- reasons, codes and statuses of the gate, its commands and features

PRODUCT = [*(ROOT / "lakegate").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
PRINTED_BY = (
    *("Verdict", "State", "Status", "DatasetStatus", "FailureCause", "Wrong", "Damage", "RouteFault", "RefusalReason"),
    *("AnchorFlaw", "PullOutcome", "PullStatus", "RevalidationEnd", "Measure"),
)
"""Enumerations whose values people see in commands, pages or events."""
INTERNAL = {
    *(
        "Outcome",
        "SnapshotStep",
        "Bound",
        "Effect",
        "ReadingProgram",
        "RowsForm",
        "TableKind",
        "BlockKind",
        "JobState",
        "TableName",
        "SqlKind",
        "Collation",
        "LintLevel",
        "Kind",
    ),
    *(
        "Unit",
        "QuantileMethod",
        "Metric",
        "MetricSource",
        "Number",
        "Over",
        "Relation",
        "Shape",
        "Severity",
        "LogicalType",
    ),
    *(
        "Cast",
        "Format",
        "Compression",
        "FieldTreatment",
        "Anomalies",
        "Scale",
        "Mode",
        "OnReject",
        "Duplicates",
        "PublishAs",
        "MergeStrategy",
        "Replaces",
    ),
    *(
        "Treatment",
        "DeliveryUnit",
        "Level",
        "SchemaFormat",
        "Target",
        "Drawing",
        "DeploymentProfile",
        "Grouping",
        "EngineName",
    ),
    *(
        "Replayable",
        "Decided",
        "Finished",
        "CheckFormat",
        "LintFormat",
        "DiffFormat",
        "Analyzer",
        "Order",
        "Bump",
        "ConditionName",
        "DatasetMetric",
        "WaitsFor",
        "Affected",
    ),
}
"""Enumerations of settings, options, contents of files and of the protocol, which other pages list."""
CODED = {
    "alarms": r"""Alarm\(\s*"([a-z-]+)\"""",
    "reasons of a status": r"""["'](line-[a-z]+): """,
    "refusals of the API": r"""HttpProblem\(\s*\d+,\s*"([a-z-]+)\"""",
    "faults of pulls": r"""(?:PortError|SourceChanged|Unanswered)\(\s*"([a-z]+(?:-[a-z]+)+)\"""",
}
"""Codes in the texts of the code, by what they are."""
OF_STATUS = {"line-deprecated", "line-sunset"}
"""Codes that are made of a status."""


def values_of_enumerations() -> dict[str, set[str]]:
    """The values of every enumeration in the code, by its name."""
    found: dict[str, set[str]] = {}
    for path in PRODUCT:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and {"StrEnum", "Enum"} & {
                getattr(each, "id", "") for each in node.bases
            }:
                members = (each.value for each in node.body if isinstance(each, ast.Assign))
                found[node.name] = {each.value for each in members if isinstance(each, ast.Constant)}
    return found


def test_every_reason_code_and_status_that_is_printed_is_explained() -> None:
    """Those of enumerations, of the gate's reasons, and those in the code; a new enumeration is in one of the two lists."""
    enumerations, texts = values_of_enumerations(), [path.read_text() for path in PRODUCT]
    coded = {each for form in CODED.values() for text in texts for each in re.findall(form, text)}
    wanted = {value for name in PRINTED_BY for value in enumerations[name]} | {*REASONS, *OF_STATUS} | coded
    known = {each.outcome for each in printed()}

    assert set(enumerations) == {*PRINTED_BY, *INTERNAL}
    assert all(any(re.search(form, text) for text in texts) for form in CODED.values())
    assert wanted - known == set()


def test_no_explanation_is_left_of_what_is_printed_no_more() -> None:
    """Each explained word stands in the code, or is a cause of `doctor`."""
    texts = [path.read_text() for path in PRODUCT if "explanations" not in path.name]
    texts.append((ROOT / "lakegate/features/doctor/causes.yaml").read_text())
    words = {word for text in texts for word in re.findall(r"[\w-]+", text)} | OF_STATUS

    assert {each.outcome for each in printed()} - words == set()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unrouted", "No route covers this key"),
        ("duplicate-content", "The very same content was accepted before"),
        ("line-deprecated", "The dataset is deprecated"),
        ("gone", "GONE: The data was deleted"),
        ("PUBLISHED", "It is accepted"),
        ("rule-disabled", "The event rule NAME (PART) is disabled"),
        ("host-refused", "is not in `PullHosts`"),
    ],
)
def test_a_word_of_the_gate_is_explained_in_capitals_or_not(name: str, words: str) -> None:
    """As people type it after they have read it."""
    assert words in run(name)


def test_a_word_with_several_meanings_is_explained_in_each() -> None:
    """`too-large` is a refusal of the API, a message of a queue, and a limit of a pull."""
    assert [line for line in run("too-large").splitlines() if line.startswith("More: ")] == [
        "More: docs/functions.md",
        "More: docs/api.md",
        "More: docs/pull.md",
    ]

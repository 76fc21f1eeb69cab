"""Table of all lint codes with level and function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lakegate.base.extension_points import load_extensions
from lakegate.base.text import first_paragraph
from lakegate.lints import (
    contradiction_lints,
    file_format_lints,
    lifecycle_lints,
    measure_lints,
    metadata_lints,
    name_lints,
    pattern_lints,
    relationship_lints,
    replacement_lints,
    schedule_lints,
    service_level_lints,
    sql_lints,
    threshold_lints,
    type_lints,
    yaml_value_lints,
)
from lakegate.lints.findings import Lint, LintLevel
from lakegate.rules.check_builder import NEVER_MEASURED

# ---- Semantic lints: to add one, add a row ----


ERROR, WARNING = LintLevel.ERROR, LintLevel.WARNING


def _of_features() -> dict[str, Lint]:
    """Those of the extension point `lints`: of each feature its codes, in their order."""
    tables: Iterator[Mapping[str, Lint]] = load_extensions("lints")
    return {code: lint for table in tables for code, lint in table.items()}


LINTS = {
    "version-not-semantic": Lint(ERROR, name_lints.version),
    "versioned-id": Lint(ERROR, name_lints.versioned_id),
    "no-id": Lint(ERROR, name_lints.no_id),
    "no-dataset": Lint(WARNING, name_lints.no_dataset),
    "no-field": Lint(WARNING, name_lints.no_field),
    "duplicate-dataset": Lint(ERROR, name_lints.duplicate_dataset),
    "duplicate-field": Lint(ERROR, name_lints.duplicate_field),
    "duplicate-rule": Lint(ERROR, name_lints.duplicate_rule),
    "unseen-in-name": Lint(ERROR, name_lints.unnamed),
    "unknown-column": Lint(ERROR, name_lints.unknown_column),
    "repeated-column": Lint(WARNING, name_lints.repeated_column),
    "personal-data-unclassified": Lint(WARNING, metadata_lints.unclassified),
    "missing-owner": Lint(ERROR, metadata_lints.required_owner),
    "missing-classification": Lint(ERROR, metadata_lints.required_classification),
    "percent-range": Lint(ERROR, threshold_lints.percent),
    "reversed-between": Lint(ERROR, threshold_lints.reversed_between),
    "impossible-threshold": Lint(ERROR, threshold_lints.impossible),
    "trivial-threshold": Lint(WARNING, threshold_lints.trivial),
    "share-range": Lint(ERROR, threshold_lints.share),
    "negative-parameter": Lint(ERROR, threshold_lints.negative_parameter),
    "negative-tolerance": Lint(ERROR, threshold_lints.negative_tolerance),
    "large-tolerance": Lint(WARNING, threshold_lints.large_tolerance),
    "tolerance-order": Lint(ERROR, threshold_lints.tolerance_order),
    "tolerance-of-zero": Lint(ERROR, threshold_lints.tolerance_of_zero),
    "idle-tolerance": Lint(WARNING, threshold_lints.idle_tolerance),
    "rule-without-column": Lint(ERROR, type_lints.without_column),
    "reversed-bounds": Lint(ERROR, contradiction_lints.reversed_bounds),
    "repeated-value": Lint(WARNING, yaml_value_lints.repeated_value),
    "unquoted-surprise": Lint(WARNING, yaml_value_lints.surprising),
    "dangling-relationship": Lint(WARNING, relationship_lints.dangling),
    "relationship-to-itself": Lint(ERROR, relationship_lints.of_itself),
    "relationship-length": Lint(ERROR, relationship_lints.unequal),
    "relationship-type": Lint(WARNING, relationship_lints.of_other_type),
    "unknown-element": Lint(WARNING, service_level_lints.unknown_element),
    "level-field-type": Lint(WARNING, service_level_lints.not_a_moment),
    "repeated-key-position": Lint(WARNING, name_lints.repeated_position),
    "key-position-without-key": Lint(WARNING, name_lints.idle_position),
    "optional-key": Lint(WARNING, name_lints.optional_key),
    "repeated-rule": Lint(WARNING, name_lints.repeated_rule),
    "repeated-id": Lint(ERROR, name_lints.repeated_id),
    "repeated-physical-name": Lint(WARNING, name_lints.repeated_physical_name),
    "parts-missing": Lint(WARNING, type_lints.without_parts),
    "enum-without-values": Lint(WARNING, type_lints.without_values),
    "rule-level": Lint(WARNING, type_lints.row_count_of_field),
    "personal-but-public": Lint(WARNING, metadata_lints.personal_but_public),
    "empty-rule": Lint(WARNING, name_lints.empty_rule),
    "unknown-metric": Lint(WARNING, name_lints.unknown_metric),
    "value-breaks-field": Lint(ERROR, contradiction_lints.list_breaks_field),
    "example-breaks-field": Lint(WARNING, contradiction_lints.example_breaks_field),
    "no-common-value": Lint(ERROR, contradiction_lints.no_common_value),
    "required-and-null": Lint(ERROR, contradiction_lints.required_and_null),
    "no-multiple-between": Lint(ERROR, contradiction_lints.no_multiple_between),
    "bound-not-whole": Lint(WARNING, contradiction_lints.bound_not_whole),
    "contradicting-thresholds": Lint(ERROR, measure_lints.contradicting_thresholds),
    "pattern-not-ecma": Lint(ERROR, pattern_lints.foreign),
    "pattern-not-linear": Lint(WARNING, pattern_lints.not_linear),
    "pattern-unanchored": Lint(WARNING, pattern_lints.unanchored),
    "cron-dialect": Lint(ERROR, schedule_lints.other_dialect),
    "cron-value": Lint(ERROR, schedule_lints.impossible),
    "schedule-of-rule": Lint(WARNING, schedule_lints.of_rule),
    "scheduler-alone": Lint(WARNING, schedule_lints.scheduler_alone),
    "unknown-level": Lint(WARNING, service_level_lints.unknown_level),
    "unknown-level-unit": Lint(WARNING, service_level_lints.unknown_unit),
    "level-without-unit": Lint(WARNING, service_level_lints.without_unit),
    "level-share": Lint(ERROR, service_level_lints.share),
    "not-a-duration": Lint(WARNING, service_level_lints.not_a_duration),
    "unwatched-level": Lint(WARNING, service_level_lints.unwatched),
    "unknown-status": Lint(WARNING, lifecycle_lints.unknown_status),
    "deprecation-missing": Lint(WARNING, lifecycle_lints.ends_unsaid),
    "deprecation-status": Lint(WARNING, lifecycle_lints.ends_while_active),
    "deprecation-date": Lint(ERROR, lifecycle_lints.not_a_day),
    "deprecation-order": Lint(ERROR, lifecycle_lints.reversed_days),
    "deprecation-notice": Lint(WARNING, lifecycle_lints.short_notice),
    "query-without-operator": Lint(WARNING, sql_lints.without_operator),
    "unknown-placeholder": Lint(ERROR, sql_lints.unknown_placeholder),
    "placeholder-without-field": Lint(ERROR, sql_lints.placeholder_without_field),
    "not-a-link": Lint(WARNING, metadata_lints.not_a_link),
    "not-an-email": Lint(WARNING, metadata_lints.not_an_email),
    "unknown-transformation": Lint(WARNING, metadata_lints.unknown_transformation),
    "repeated-tag": Lint(WARNING, metadata_lints.repeated_tag),
    "repeated-server": Lint(ERROR, metadata_lints.repeated_server),
    "server-location": Lint(WARNING, metadata_lints.other_location),
    "server-field": Lint(WARNING, metadata_lints.server_field),
    "unknown-member": Lint(WARNING, metadata_lints.unknown_member),
    "reversed-membership": Lint(WARNING, metadata_lints.reversed_membership),
    "not-a-currency": Lint(WARNING, metadata_lints.not_a_currency),
    "unread-variable": Lint(WARNING, yaml_value_lints.unread_variable),
    "extension-unread": Lint(WARNING, file_format_lints.unread_extension),
    "csv-conflict": Lint(ERROR, file_format_lints.csv_conflict),
    "idle-share": Lint(WARNING, file_format_lints.idle_share),
    "idle-replacement": Lint(ERROR, replacement_lints.idle_replacement),
    "no-period": Lint(ERROR, replacement_lints.no_period),
    "rows-count-twice": Lint(WARNING, replacement_lints.rows_count_twice),
    "null-column": Lint(ERROR, file_format_lints.null_column),
    "csv-beside-format": Lint(ERROR, file_format_lints.csv_beside_format),
    "records-beside-format": Lint(ERROR, file_format_lints.records_beside_format),
    "compression-inside": Lint(ERROR, file_format_lints.compressed_inside),
    "idle-delivery-setting": Lint(WARNING, file_format_lints.idle_delivery_setting),
    "unsplittable-rows": Lint(ERROR, file_format_lints.unsplittable_rows),
    **_of_features(),
    "nested-fields": Lint(WARNING, file_format_lints.parts_in_csv),
    "server-format": Lint(WARNING, file_format_lints.format_left_open),
}


# ---- All lint codes, from which docs/codes.md is generated ----
# A code is public: tools filter by it, so its meaning never changes. The codes of `lakegate.lints.lint_codes` are described at
# their functions; all others are listed here, by the module that reports them.


@dataclass(frozen=True, slots=True)
class Code:
    """One code: the part of Lakegate that reports it, its level, and the rule for documents."""

    family: str
    level: LintLevel
    words: str


FAMILIES = {
    "syntax": "Syntax: the document can be read",
    "schema": "Schema: the document has the structure of its version",
    "reading": "Reading: every part can be interpreted",
    "meaning": "Meaning: the document is consistent",
    "measuring": "Measuring: every rule can be measured",
}

SYNTAX = {
    "document-too-large": "A document has at most 1 MiB.",
    "not-utf-8": "A document is written in UTF-8.",
    "unseen-character": "A document contains no invisible character.",
    "syntax": "A document is YAML or JSON.",
    "empty-document": "A document is not empty.",
    "too-many-nodes": "A document has at most 50,000 values, aliases counted as often as they are used.",
    "too-deep": "A document has at most 32 levels.",
    "number-too-large": "A number has at most 100 characters and an exponent of at most 400.",
    "unknown-alias": "An alias names an anchor that is complete above it.",
    "several-documents": "A file contains one contract.",
    "tag": "A document has no tags (`!…`).",
    "duplicate-key": "A mapping names each key once.",
    "key-not-plain": "A key is one text of at most 256 characters.",
    "merge-of-no-mapping": "`<<` merges mappings.",
}

SCHEMA = {
    "missing-key": "Every key that the format requires is present.",
    "unknown-key": "Every key is one of the format, where the format refuses others.",
    "key-does-not-fit": "A key is compatible with the keys beside it.",
    "wrong-type": "A value has the type that the format requires.",
    "not-allowed": "A value is one of those that the format lists.",
    "wrong-form": "A text, or a key, has the form that the format requires.",
    "out-of-range": "A number is in the range of the format.",
    "wrong-length": "A text, a list or a mapping has a length that the format allows.",
    "repeated-item": "No two items of a list are equal, where the format requires it.",
    "no-form": "One of the keys that the format offers is there.",
    "several-forms": "Of keys that exclude each other one is there.",
    "does-not-fit": "A value meets every other rule of the format.",
}

READING = {
    "unknown-format": (ERROR, "A document declares its format by that format's own key."),
    "unknown-version": (ERROR, "A document is of a version that is known."),
    "unresolved-variable": (ERROR, "Every variable has a value or a default."),
    "variable-kept": (WARNING, "Every variable of a server, a team or a price has a value or a default."),
    "unknown-type": (ERROR, "A data type is one of the format."),
    "no-type": (WARNING, "Every field has a type that is known."),
    "physical-type": (WARNING, "The logical and the physical type of a field have the same values."),
    "date-format": (
        WARNING,
        "Dates and times are written as ISO 8601, or in a format that can be measured, without bounds.",
    ),
    "too-many-digits": (WARNING, "A decimal has no more digits than are read."),
    "timezone": (WARNING, "Timestamps without an offset are in UTC."),
    "not-a-column": (WARNING, "A property is delivered: measures and dimensions are computed by consumers."),
    "unknown-unit": (ERROR, "A unit of a rule is rows or percent."),
    "operand": (ERROR, "An operator compares a number."),
    "unknown-severity": (WARNING, "A severity is one that is usual; others count as error."),
    "dangling-reference": (ERROR, "A `$ref` names a definition of the document."),
    "external-reference": (
        ERROR,
        "A `$ref` stays in the document, or names a definition of a file beside it, or of the web, that can be read.",
    ),
    "circular-reference": (ERROR, "A definition does not refer to itself."),
    "too-many-fields": (ERROR, "References lead to at most 5,000 fields and 32 levels."),
    "unused-definition": (WARNING, "Every definition is referred to."),
    "ambiguous-field": (ERROR, "A rule names one field: a name that is also the path of another one is in quotes."),
    "two-primary-keys": (ERROR, "A model and its fields name one primary key."),
    "unknown-model": (WARNING, "Checks at the root name models of the contract."),
    "unread-checks": (WARNING, "Checks that are written in a text can be read."),
    "unknown-key-kept": (WARNING, "Every key is one of the format, where the format keeps others."),
    "older-key": (WARNING, "No key is out of date."),
    "does-not-apply": (
        WARNING,
        "A key of a field applies to its type: lengths, patterns and formats to texts.",
    ),
    "unnamed-target": (WARNING, "A foreign key of DCM is compared with nothing: the format names no target."),
    "appendix-b": (WARNING, "A DCM contract meets the thesis's Appendix B too."),
    "access-pattern": (ERROR, "The pattern of file names of a DCM contract can be compared in bounded time."),
    "access-unused": (WARNING, "What a DCM contract says of the access has an effect."),
    "deprecation-key": (ERROR, "A deprecation has the five keys of ADR-0029."),
    "deprecation-value": (ERROR, "The keys of a deprecation are texts."),
    "extension-key": (ERROR, "The `lakegate` extension has keys that are known."),
    "extension-value": (ERROR, "The keys of the `lakegate` extension have values that can be fulfilled."),
    "unknown-parent": (ERROR, "The contract that a document inherits from is known."),
    "broken-parent": (ERROR, "The contract that a document inherits from is valid."),
    "circular-inheritance": (ERROR, "No contract inherits from itself, and at most eight inherit in a row."),
    "weaker-than-parent": (ERROR, "A contract is at least as strict as the one it inherits from."),
    "unknown-port-contract": (
        WARNING,
        "The contract that a port of a data product names is one of the documents that are linted.",
    ),
    "derived-input": (ERROR, "The inputs of a derived dataset are published as it says; only `publish` can tell."),
    "unknown-workflow": (ERROR, "The workflow that a contract names is published; only `publish` can tell."),
    "waiting-slices": (
        ERROR,
        "With `publishAs: parquet`, the workflow asks nobody and waits for no time; only `publish` can tell.",
    ),
}

MEASURING = {
    "undeclared-column": "The arguments of a rule name fields that its dataset declares.",
    "no-column": "A rule about values names a field.",
    "no-argument": "A rule has the arguments that it cannot do without.",
    "no-condition": "`invalidValues` has arguments that define valid values, or is at a property with an `enum`.",
    "operator": "A metric of the library has an operator.",
    "not-a-number": "A bound or a parameter is a number.",
    "not-a-count": "A length is a whole number from 0.",
    "not-a-list": "A closed list has at least one value.",
    "rule-does-not-suit": "A rule suits the type of every field it names.",
    "not-numeric": "A mean, like every aggregate, is taken over numbers.",
    "not-comparable": "Fields that are compared are of one type, or both are numbers.",
    "not-a-moment": "A service level is measured on a field of dates or timestamps.",
    "not-allowed-argument": "An argument of a foreign check is one that its engine has.",
    "soda-check": "A check of Soda is written in SodaCL, or in the keys of Soda's contracts.",
    "bound-out-of-reach": "The bounds of an integer leave room within 64 bits.",
    "bound-on-unordered": "Bounds belong to a type that has an order.",
    "value-not-of-type": "A value that a rule names is of its field's type.",
    "pattern": "A pattern can be translated for the engine, as far as ECMA-262 and Java agree.",
    "json-schema": "A `jsonSchema` is a JSON Schema of draft 2020-12, within bounds, with no reference to another document.",
    "share": "`mostly` is a share from 0 to 1.",
    "query-not-a-select": "A rule only reads: its SQL is one SELECT.",
    "query-unbalanced": "Brackets, quotes and comments of a query are closed.",
    "query-syntax": "A query can be read in its dialect.",
    "query-window-in-aggregate": "No aggregate is taken over a window function: every engine refuses that.",
    "query-unknown-table": "A query reads the datasets of its own contract, and nothing else.",
    "query-unknown-column": "A query reads fields that its datasets have.",
    "query-unknown-function": "A query calls functions that are known.",
    "query-not-repeatable": "A query answers the same each time: it samples no rows.",
    "query-forbidden": "A query reaches no farther than the data: no session, no lock, no hint, no unseen character.",
    "query-too-large": "A query is bearable: in its length, in its depth, and in what it builds.",
    "query-cross-join": "Two tables of a query are joined on columns that are equal.",
    "query-not-a-number": "A query answers with one number.",
    "unit": "Failing rows are counted in percent; a number of rows, and the answer of a query, is not.",
    "not-measured": "A rule is measured: this one is named in every report, and skipped.",
}


CODES: dict[str, Code] = {
    **{code: Code("syntax", ERROR, words) for code, words in SYNTAX.items()},
    **{code: Code("schema", ERROR, words) for code, words in SCHEMA.items()},
    **{code: Code("reading", *entry) for code, entry in READING.items()},
    **{code: Code("meaning", lint.level, first_paragraph(lint.find.__doc__)) for code, lint in LINTS.items()},
    **{
        code: Code("measuring", WARNING if code in NEVER_MEASURED else ERROR, words)
        for code, words in MEASURING.items()
    },
}

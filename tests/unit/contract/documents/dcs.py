"""Documents of the Data Contract Specification, by what differs between tests."""

from __future__ import annotations

from lakegate.base.errors import Problem
from lakegate.contract.contract_model import Dataset, Rule
from lakegate.lints.linter import examine, read

DOCUMENT = """\
dataContractSpecification: {version}
id: x
info: {{title: t, version: 1.0.0}}
models:
  m:
    fields: {{{fields}}}
    {model}
  other:
    fields: {{t: {{type: timestamp}}, k: {{type: long}}}}
{top}
"""


def document(fields: str = "n: {type: long}", model: str = "", top: str = "", version: str = "1.2.1") -> bytes:
    return DOCUMENT.format(fields=fields, model=model, top=top, version=version).encode()


def dataset(fields: str = "n: {type: long}", model: str = "", top: str = "", version: str = "1.2.1") -> Dataset:
    return read(document(fields, model, top, version)).datasets[0]


def constraints(field: str, top: str = "") -> list[tuple[str, dict[str, object]]]:
    """The rules of a field, without the rule of its type."""
    rules = dataset(f"n: {{{field}}}", top=top).rules
    return [(rule.kind, dict(rule.arguments)) for rule in rules if rule.kind != "type"]


def quality(text: str, version: str = "1.2.1") -> list[Rule]:
    return [rule for rule in dataset(model=f"quality: [{text}]", version=version).rules if rule.kind != "type"]


def errors(text: bytes) -> list[tuple[str, str]]:
    return [(problem.code, problem.path) for problem in examine(text).errors]


def warnings(text: bytes) -> list[Problem]:
    return list(examine(text).warnings)

"""A whole contract as an ODCS 3.2 document, and what that does not keep.

The written document is read again and compared with the contract by `lakegate.contracts.compare`, so that nothing is lost
without being listed: neither a rule, nor a setting, nor a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as MappingType
from typing import TYPE_CHECKING, Any

from lakegate.contracts.compare.compare import compare
from lakegate.contracts.compare.version import ContractVersion
from lakegate.contracts.compile.rules.build import brief
from lakegate.contracts.convert.odcs_document import VERSION, document_of, server_settings
from lakegate.contracts.convert.passed import definitions_of, passed_keys, unread_keys
from lakegate.contracts.convert.promises import Converted
from lakegate.contracts.convert.same_checks import compared_rules
from lakegate.contracts.documents.document import parse
from lakegate.contracts.documents.nodes import steps_of
from lakegate.contracts.draft.document import for_editors
from lakegate.contracts.draft.yaml_text import Flow, Items, Mapping, YamlEntry, written
from lakegate.contracts.errors import ContractError
from lakegate.contracts.lint.examine import examine
from lakegate.contracts.model.placeholders import PLACEHOLDERS, VARIABLE

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from lakegate.contracts.compare.change import Change
    from lakegate.contracts.convert.odcs_site import Plain
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.draft.yaml_text import Node
    from lakegate.contracts.model.contract import Contract

MAX_ROUNDS = 5
"""How often refused parts are left out; parts that are refused for others are found in the next round."""
LEAVABLE = ("quality", "servers", "relationships", "slaProperties", "examples", "tags")
"""Lists whose items are left out, and listed, where ODCS refuses them."""


def odcs(version: ContractVersion) -> Converted:
    """The document of a contract in another format; `omitted` names each key and rule without an equivalent.

    ContractError if no valid document can be written, e.g. because it would be too large.
    """
    lost = list(unread_keys(version))
    text, found = settled(document_of(version.contract, passed_keys(version)))
    return Converted(text, tuple(dict.fromkeys([*lost, *_lost(version, found)])))


def odcs_of_schema(contract: Contract) -> Converted:
    """The document of a contract that was read from a schema of another tool; `omitted` names the rules that are lost."""
    text, found = settled(document_of(contract, lambda _element, _path: {}))
    rules = compared_rules(contract, found.contract).lost.items()
    return Converted(text, tuple(f"{path} (rule: {brief(words)})" for path, words in rules))


def settled(document: Plain) -> tuple[str, ContractVersion]:
    """The text without parts that ODCS refuses, and the contract in it. ContractError if something else is refused."""
    rounds = 0
    while True:
        text, rounds = _text(document), rounds + 1
        examined = examine(text.encode(), complete=_alone)
        if examined.contract is not None and not examined.errors:
            return text, ContractVersion(examined.contract.with_own_common, parse(text.encode()))
        refused = {place for each in examined.errors if (place := _leavable(each.path)) is not None}
        if not refused or rounds == MAX_ROUNDS:
            raise ContractError(examined.errors)
        for place in sorted(refused, key=lambda steps: [str(each).zfill(6) for each in steps], reverse=True):
            _leave_out(document, place)


def _alone(contract: Contract, _document: Document, _notes: Notes) -> Contract:
    """The contract without what its parents add: the document still inherits it."""
    return contract


def _leavable(path: str) -> tuple[str | int, ...] | None:
    """The item of a list, or the option, that a problem lies in; None if it lies elsewhere."""
    steps = steps_of(path)
    for at in range(len(steps) - 1, 0, -1):
        if (isinstance(steps[at], int) and steps[at - 1] in LEAVABLE) or steps[at - 1] == "logicalTypeOptions":
            return steps[: at + 1]
    return None


def _leave_out(document: Plain, place: tuple[str | int, ...]) -> None:
    owner: Any = document
    for step in place[:-1]:
        owner = owner[step]
    del owner[place[-1]]


def _lost(old: ContractVersion, new: ContractVersion) -> Iterator[str]:
    """What the new version does not keep, in words; rules with the same thresholds are kept, however they are written."""
    rules = compared_rules(old.contract, new.contract)
    yield from (f"{path} (rule: {brief(words)})" for path, words in rules.lost.items())
    yield from (f"{path} (another rule: {brief(words)})" for path, words in rules.added.items())
    is_purpose = old.contract.about.purpose is None and old.contract.about.description is not None
    for change in compare(old, new).changes:
        is_of_rule = change.path in rules.paths and change.kind != "rule-id"
        is_addition = change.kind == "metadata" and change.before is None
        is_moved = is_purpose and change.path in {"description", "purpose"}
        if not (is_of_rule or is_addition or is_moved or _is_same(change)):
            yield _words(change)


def _is_same(change: Change) -> bool:
    """Whether ODCS has the same in another form: links, and the roles of servers."""
    if change.before is None or change.after is None or not change.before.startswith("{"):
        return False
    before = json.loads(change.before)
    return json.loads(change.after) in (definitions_of(before), server_settings(before))


def _words(change: Change) -> str:
    sides = " -> ".join("none" if each is None else brief(each) for each in (change.before, change.after))
    return f"{change.path} ({change.kind}: {sides})"


# --- the text


def _text(document: Plain) -> str:
    top = node_of(document)
    assert isinstance(top, Mapping)
    return written(Mapping([*for_editors(VERSION), *top.entries]))


def node_of(value: Any) -> Node:  # noqa: ANN401 - what a document holds
    """A value of a document as YAML; a text is never a variable."""
    if isinstance(value, MappingType):
        return Mapping([YamlEntry(str(key), node_of(each)) for key, each in value.items()])
    if isinstance(value, list | tuple):
        nodes = [node_of(each) for each in value]
        scalars = [each for each in nodes if not isinstance(each, Mapping | Items | Flow)]
        return Flow(scalars) if len(scalars) == len(nodes) else Items(nodes)
    return VARIABLE.sub(_literal, value) if isinstance(value, str) else value


def _literal(found: re.Match[str]) -> str:
    """ODCS 3.2 has no escape of `${NAME}`: the default of a variable that nobody has keeps its first characters."""
    return found[0] if found["name"] in PLACEHOLDERS else f"${{_:-$}}{found[0][1:]}"

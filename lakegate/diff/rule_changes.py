"""Rules matched, and compared by their checks."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.service_levels import KIND as SERVICE_LEVEL
from lakegate.diff.change_kinds import Change, Pairs, meaning, pair_elements, text_of
from lakegate.diff.rule_strictness import Order, is_same_measure, measure, rejecting, rejection, warning
from lakegate.plan.check import Check
from lakegate.plan.check_numbers import demands
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Not, Predicate, Within
from lakegate.rules.compile_plan import checks_by_rule, with_parts

# ---- One requirement of a dataset ----


PRIMARY_KEY, TEXT = "primaryKey", "text"
FAMILIES = {PRIMARY_KEY: "key", "foreignKey": "relationship"}
"""The kinds of rules with kinds of change of their own."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One check of a rule of a dataset."""

    dataset: str
    rule: Rule
    check: Check

    @property
    def own_id(self) -> str | None:
        """The id that the document gives the rule; None if the reader generated it."""
        is_generated = re.fullmatch(rf".*:{re.escape(self.rule.kind)}:[0-9]+", self.rule.id, re.DOTALL)
        return None if is_generated else self.rule.id

    @property
    def suffix(self) -> str:
        """The part of the path that distinguishes the check from others of its rule."""
        return self.check.id.removeprefix(self.rule.id)

    @property
    def path(self) -> str:
        """Its path in changes: `orders.country#minimum`, `orders#enough_rows`."""
        fields = "+".join(self.check.fields)
        return f"{self.dataset}.{fields}#{self._name}" if fields else f"{self.dataset}#{self._name}"

    @property
    def rule_path(self) -> str:
        """The path of changes that concern the whole rule."""
        return f"{self.dataset}#{self.own_id}" if self.own_id else self.path

    @property
    def _name(self) -> str:
        return self.own_id or self.rule.kind

    @property
    def is_quality(self) -> bool:
        """Whether the document has the rule in a list of its own, with keys of its own."""
        return re.search(r"\.quality\[[0-9]+\]$", self.rule.origin.path) is not None

    @property
    def words(self) -> str:
        """The requirement in words, e.g. `at least 5 rows, else warn`."""
        scheduled = ", by schedule" if self.is_scheduled else ""
        return f"{self.check.wanted}{'' if rejecting(self.check) else ', else warn'}{scheduled}"

    @property
    def is_scheduled(self) -> bool:
        """Whether it is measured over accepted data, and with no delivery."""
        return bool(self.rule.schedule)

    @property
    def family(self) -> str:
        """The first part of its kinds of change."""
        return "rule" if self.is_presence else FAMILIES.get(self.rule.kind, "rule")

    @property
    def is_presence(self) -> bool:
        """Whether it is the `required` of a field, or of a part of the primary key."""
        return self.rule.kind in {"required", PRIMARY_KEY} and self.check.metric is Metric.FAILING_ROWS

    @property
    def content(self) -> Hashable:
        """The declaration of a rule that is not measured."""
        note = self.rule.name if self.rule.kind == TEXT else None
        return meaning(
            (note, self.rule.kind, self.check.fields, self.rule.arguments, self.rule.comparison, self.rule.tolerance)
        )


# ---- Changes of rules ----


OF_TYPES = ("type", "nested")
"""Kinds of rules that follow from the types of fields."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The requirements of two versions."""

    pairs: Pairs[Requirement]
    removed: list[Requirement]
    added: list[Requirement]


def requirements(contract: Contract, dataset: Dataset) -> list[Requirement]:
    """All requirements of the data of a dataset, also of nested fields that its file format does not measure."""
    readable = replace(dataset, storage=Storage(Format.JSONL))
    others = (entry for entry in contract.datasets if entry.name != dataset.name)
    return [
        Requirement(dataset.name, rule, check)
        for rule, checks in checks_by_rule(replace(contract, datasets=(readable, *others)), readable)
        for check in checks
        if (rule.kind not in OF_TYPES or rule.arguments) and rule.kind != SERVICE_LEVEL
    ]


def demanded_fields(found: list[Requirement], fields: Iterable[Field]) -> frozenset[str]:
    """Those of the fields without which a file may be rejected, as the judgement of such a file decides it."""
    names = {field.name: frozenset(part.name for part in with_parts((field,))) for field in fields}
    return frozenset(
        name for name, absent in names.items() if any(demands(requirement.check, absent) for requirement in found)
    )


def match(old: list[Requirement], new: list[Requirement], removed: Collection[str], added: Collection[str]) -> Matched:
    """Pair requirements by id, then by what they measure; those of removed and added fields alone are left out."""
    return Matched(
        *pair_elements(
            [requirement for requirement in old if not _is_only_of(requirement, removed)],
            [requirement for requirement in new if not _is_only_of(requirement, added)],
            lambda requirement: (
                requirement.own_id and (requirement.own_id, requirement.suffix, measure_of(requirement))
            ),
            lambda requirement: (_essence(requirement), requirement.rule.kind),
            _essence,
            measure_of,
            lambda requirement: (
                None
                if requirement.rule.kind == TEXT
                else (requirement.rule.kind, requirement.check.fields, requirement.check.metric)
            ),
            lambda requirement: requirement.own_id and (requirement.own_id, requirement.suffix),
            lambda requirement: requirement.own_id,
            lambda requirement: PRIMARY_KEY if requirement.family == "key" else None,
        )
    )


def compare_requirements(matched: Matched, old: list[Requirement], new: list[Requirement]) -> Iterator[Change]:
    """The changes of requirements; `old` and `new` are all of each version."""
    for was, now in matched.pairs:
        kind = _kind(was, now)
        if kind is not None:
            same_words = was.words == now.words
            sides = (text_of(side.rule.arguments) if same_words else side.words for side in (was, now))
            yield Change(now.path, kind, *sides)
        elif was.rule.kind == now.rule.kind and _declared_arguments(was.rule) != _declared_arguments(now.rule):
            yield Change(now.rule_path, "rule-described", text_of(was.rule.arguments), text_of(now.rule.arguments))
        if was.rule.kind == now.rule.kind and was.own_id != now.own_id:
            yield Change(now.rule_path, "rule-id", was.own_id, now.own_id)
        for name in ("name", "dimension"):
            before, after = getattr(was.rule, name), getattr(now.rule, name)
            if before != after:
                yield Change(f"{now.rule_path}.{name}", "rule-described", before, after)
    for entry in matched.removed:
        yield from _alone(entry, new, is_added=False)
    for item in matched.added:
        yield from _alone(item, old, is_added=True)


def _is_only_of(requirement: Requirement, fields: Collection[str]) -> bool:
    return bool(requirement.check.fields) and all(name in fields for name in requirement.check.fields)


def _essence(requirement: Requirement) -> Hashable:
    """The whole check, without its names; of a rule that is not measured, what is declared."""
    if requirement.check.skip is not None:
        return requirement.content
    return measure(requirement.check), requirement.check.accept, requirement.check.tolerate, requirement.check.worst


def measure_of(requirement: Requirement) -> Hashable | None:
    """The measure of the check, and the shape of its condition; None if it is not measured."""
    if requirement.check.skip is not None:
        return None
    return measure(requirement.check), _shape(requirement.check.accept.predicate)


def _shape(predicate: Predicate | None) -> Hashable:
    match predicate:
        case Not(inner):
            return ("not", _shape(inner))
        case Within():
            return ("within", predicate.low is None, predicate.high is None)
        case _:
            return type(predicate).__name__


def _declared_arguments(rule: Rule) -> Hashable:
    """The arguments of a rule; the order of a list of values does not count."""
    lists = {
        key: frozenset(map(meaning, argument))
        for key, argument in rule.arguments.items()
        if isinstance(argument, tuple)
    }
    return frozenset({key: lists.get(key, meaning(argument)) for key, argument in rule.arguments.items()}.items())


def _kind(was: Requirement, now: Requirement) -> str | None:
    """The kind of change of a requirement; None if it accepts the same."""
    if TEXT in {was.rule.kind, now.rule.kind}:
        return None if was.rule.kind == now.rule.kind else "rule-changed"
    rejects, warns = _orders(was, now)
    if rejects is Order.SAME:
        return {Order.SAME: None, **_kinds_by_order("warning")}[warns]
    if was.family != now.family or was.family != "rule":
        return f"{now.family}-changed" if was.family == now.family else "rule-changed"
    if None in {rejecting(was.check), rejecting(now.check)} and warns is Order.SAME:
        return "severity-raised" if rejects is Order.STRICTER else "severity-lowered"
    return _kinds_by_order("rule")[rejects]


def _kinds_by_order(family: str) -> dict[Order, str]:
    ends = {Order.STRICTER: "stricter", Order.LOOSER: "looser", Order.OTHER: "changed"}
    return {order: f"{family}-{end}" for order, end in ends.items()}


def _orders(was: Requirement, now: Requirement) -> tuple[Order, Order]:
    """The order of what is rejected, and of what is warned about."""
    if was.is_scheduled is not now.is_scheduled:
        return Order.OTHER, Order.OTHER
    old, new = was.check, now.check
    if is_same_measure(old, new):
        return rejection(old, new), warning(old, new)
    was_warning, is_warning = rejecting(old) is None, rejecting(new) is None
    content = Order.SAME if _essence(was) == _essence(now) else Order.OTHER
    if was_warning == is_warning:
        return Order.SAME if was_warning else content, content
    if content is Order.OTHER:
        return content, content
    return Order.STRICTER if was_warning else Order.LOOSER, content


def _alone(requirement: Requirement, others: list[Requirement], *, is_added: bool) -> Iterator[Change]:
    """The change of a requirement that the other version does not have."""
    before, after = (None, requirement.words) if is_added else (requirement.words, None)
    is_repeated = requirement.check.skip is None and any(_covers(other, requirement) for other in others)
    if not (is_repeated and requirement.is_presence and requirement.rule.kind == PRIMARY_KEY):
        yield Change(
            requirement.path, _alone_kind(requirement, is_added=is_added, is_repeated=is_repeated), before, after
        )


def _alone_kind(requirement: Requirement, *, is_added: bool, is_repeated: bool) -> str:
    end = "added" if is_added else "removed"
    if requirement.rule.kind == TEXT:
        return f"note-{end}"
    if rejecting(requirement.check) is None:
        return f"warning-{end}"
    if is_repeated:
        return "rule-repeated" if is_added else "rule-not-repeated"
    if requirement.is_presence:
        return "field-required" if is_added else "field-optional"
    return f"{requirement.family}-{end}"


def _covers(other: Requirement, requirement: Requirement) -> bool:
    """Whether another requirement rejects whatever this one rejects."""
    if other.is_scheduled is not requirement.is_scheduled:
        return False
    return is_same_measure(requirement.check, other.check) and rejection(requirement.check, other.check) in {
        Order.SAME,
        Order.STRICTER,
    }

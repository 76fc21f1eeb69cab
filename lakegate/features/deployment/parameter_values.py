"""Values of the template's parameters: profiles, what a person names, and what a deployed stack has.

CloudFormation has the last word on each value, but says only that one is wrong; here each gets its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from lakegate.base.errors import InputError


class DeploymentProfile(StrEnum):
    """Names of profiles."""

    TRIAL = "trial"
    SMALL_FILES = "small-files"
    LARGE_FILES = "large-files"
    REGULATED = "regulated"


PROFILES: Final[Mapping[DeploymentProfile, Mapping[str, str]]] = {
    DeploymentProfile.TRIAL: {"LogDays": "7", "SmallFileBytes": "67108864"},
    DeploymentProfile.SMALL_FILES: {"BatchFiles": "100", "SmallFileBytes": "67108864"},
    DeploymentProfile.LARGE_FILES: {"JobMinutes": "240", "MaxConcurrentRuns": "4", "MaxVcpu": "64"},
    DeploymentProfile.REGULATED: {
        "AnchorDays": "365",
        "AuditQuarantine": "yes",
        "BatchFiles": "100",
        "KmsKey": "own",
        "LogDays": "3653",
        "RequireApproval": "yes",
        "SigningKey": "own",
        "SmallFileBytes": "67108864",
    },
}
"""The parameters that a profile sets; all others have the defaults of the template. docs/deploy.md has them side by side."""
DEFAULT_PROFILE: Final = DeploymentProfile.SMALL_FILES
"""Of a first deployment."""
OWN: Final = "own"
JOB_CODE: Final = "JobCode"
FIXED_UNTIL_NAMED: Final = frozenset({"KmsKey", "SigningKey"})
"""Keys that a stack has are never changed by a profile: data and chains need them."""
JAVA_WHOLE: Final = "(?:{})\\Z"


@dataclass(frozen=True, slots=True)
class ParameterValues:
    """The parameters of a deployment."""

    named: Mapping[str, str]
    """Those that the change set gets a value of."""
    kept: tuple[str, ...]
    """Those that keep the value that the stack has."""
    effective: Mapping[str, str]
    """All of them, as they will be."""
    before: Mapping[str, str] | None
    """All of them, as they are; None: there is no stack yet."""

    @property
    def request(self) -> list[dict[str, Any]]:
        """As CreateChangeSet takes them: what is not named and new has the default of the template."""
        return [
            *({"ParameterKey": name, "ParameterValue": value} for name, value in self.named.items()),
            *({"ParameterKey": name, "UsePreviousValue": True} for name in self.kept),
        ]

    @property
    def changes(self) -> Iterator[str]:
        """Changes of an existing stack, in words; of a new one, the values that are not the default."""
        for name, value in sorted(self.effective.items()):
            was = (self.before or {}).get(name)
            if was is None and name in self.named:
                yield f"{name} is {_shown(value)}"
            elif was is not None and was != value:
                yield f"{name}: {_shown(was)} → {_shown(value)}"


def _shown(value: str) -> str:
    return value or "(empty)"


def given_values(texts: Iterable[str], template: Mapping[str, Any]) -> dict[str, str]:
    """The values of `--parameter NAME=VALUE`. Raises InputError for a parameter that the template does not have."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--parameter {text}: write NAME=VALUE")
        if name not in template["Parameters"]:
            known = {each.casefold(): each for each in template["Parameters"]}
            like = get_close_matches(name.casefold(), known, 1)
            raise InputError(f"--parameter {name}: there is no such parameter{f'; {known[like[0]]}?' if like else ''}")
        if found.setdefault(name, value) != value:
            raise InputError(f"--parameter {name} is given twice, with different values")
    return found


SETTINGS_WITHOUT_BOUND: Final = ("ExtraJobParameters", "IgnoredKeys", "ValidatorHosts", "PullHosts", "DatasetMetrics")
"""Parameters that functions have as they are given."""
ROOM_OF_SETTINGS: Final = 1_000
"""Bytes. The environment of a function has 4 KB (Lambda guide, Lambda quotas), of which the other settings take up to 3 KB."""


def parameter_values(
    template: Mapping[str, Any],
    before: Mapping[str, str] | None,
    profile: DeploymentProfile | None,
    given: Mapping[str, str],
    job: str,
) -> ParameterValues:
    """The parameters of a deployment: what is given counts before the profile, and that before what the stack has.

    `before`: the parameters of the deployed stack; None where there is none, and then there is always a profile.
    """
    declared: Mapping[str, Mapping[str, Any]] = template["Parameters"]
    name = profile or (DEFAULT_PROFILE if before is None else None)
    of_profile = PROFILES[name] if name else {}
    own = {
        key: value for key, value in of_profile.items() if not (key in FIXED_UNTIL_NAMED and (before or {}).get(key))
    }
    named = {**own, JOB_CODE: job, **given}
    there = {key: value for key, value in (before or {}).items() if key in declared}
    defaults = {key: str(each.get("Default", "")) for key, each in declared.items()}
    kept = tuple(key for key in there if key not in named)
    return ParameterValues(named, kept, {**defaults, **there, **named}, before)


# ---- What CloudFormation would refuse ----


def violations(template: Mapping[str, Any], values: ParameterValues) -> Iterator[str]:
    """Faults of values: of each by itself, of all together, and after those that the stack has."""
    for name, value in values.named.items():
        yield from (f"{name}: {reason}" for reason in _wrong(template["Parameters"][name], value))
    for rule in template.get("Rules", {}).values():
        for each in rule["Assertions"]:
            if not _holds(each["Assert"], values.effective):
                yield str(each["AssertDescription"])
    before, now = values.before or {}, values.effective
    if before.get("SigningKey") and not now.get("SigningKey"):
        yield "SigningKey: signing cannot be ended (docs/deploy.md, The key that signs)"
    warm, most = now.get("WarmWorkers", "0"), now.get("MaxVcpu", "0")
    if warm.isdecimal() and most.isdecimal() and int(warm) * 4 > int(most):
        yield f"WarmWorkers: {warm} pairs have {int(warm) * 4} vCPU, and MaxVcpu is {most}"
    size = sum(len(now.get(name, "").encode()) for name in SETTINGS_WITHOUT_BOUND)
    if size > ROOM_OF_SETTINGS:
        yield f"{', '.join(SETTINGS_WITHOUT_BOUND)}: {size:,} bytes together, and functions have room for {ROOM_OF_SETTINGS:,}"


def _wrong(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    allowed = [str(each) for each in declared.get("AllowedValues", ())]
    if allowed and value not in allowed:
        yield f"{value} is none of {', '.join(each or '(empty)' for each in allowed)}"
    if declared["Type"] == "Number":
        if not re.fullmatch(r"-?\d{1,15}", value, re.ASCII):
            yield f"{value} is no number"
        elif not float(declared.get("MinValue", "-inf")) <= int(value) <= float(declared.get("MaxValue", "inf")):
            yield f"{value} is not from {declared.get('MinValue', '…')} to {declared.get('MaxValue', '…')}"
    pattern = declared.get("AllowedPattern")
    if pattern and not re.match(JAVA_WHOLE.format(pattern), value, re.ASCII):
        yield f"{value} does not have the form of: {declared.get('Description', pattern)}"


def _holds(condition: Any, values: Mapping[str, str]) -> bool:  # noqa: ANN401 - a part of a template
    """Whether a condition of a rule holds: the functions that rules of the template use."""
    ((name, operands),) = condition.items()
    match name:
        case "Fn::And":
            return all(_holds(operand, values) for operand in operands)
        case "Fn::Or":
            return any(_holds(operand, values) for operand in operands)
        case "Fn::Not":
            return not _holds(operands[0], values)
        case _:
            left, right = (
                values[operand["Ref"]] if isinstance(operand, dict) else str(operand) for operand in operands
            )
            return left == right

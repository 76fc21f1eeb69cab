"""What services ask of the keys of a stack, and what the policy of a key lacks for it.

The local stack refuses what AWS would refuse (`launcher.py`); tests put every combination of parameters with a key to it.
Imported by the embedded AWS, too, in its own environment: beside the standard library PyYAML alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ACCOUNT: Final = "the account"
"""The principal of uses with the rights of whoever asks: the key's policy lets the account's policies decide."""
KEY_OF: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "AWS::CloudTrail::Trail": lambda made: made.get("KMSKeyId"),
    "AWS::DynamoDB::Table": lambda made: made.get("SSESpecification", {}).get("KMSMasterKeyId"),
    "AWS::Logs::LogGroup": lambda made: made.get("KmsKeyId"),
    "AWS::S3::Bucket": lambda made: _encryption(made).get("ServerSideEncryptionByDefault", {}).get("KMSMasterKeyID"),
    "AWS::SNS::Topic": lambda made: made.get("KmsMasterKeyId"),
    "AWS::SQS::Queue": lambda made: made.get("KmsMasterKeyId"),
}
"""By type of resource the key that its properties name."""


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A row of key_uses.yaml."""

    of: str
    service: str
    actions: tuple[str, ...]
    source: str
    by: str = ""
    context: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    bucketKey: str = ""  # noqa: N815 - as the file has it


@cache
def key_uses() -> tuple[KeyUse, ...]:
    """All rows."""
    rows = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(KeyUse(**row | {"actions": tuple(row["actions"])}) for row in rows)


@dataclass(frozen=True, slots=True)
class StackKeys:
    """The resources of a stack, resolved, and the policies of keys."""

    resources: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Properties by type and logical id."""
    policies: Mapping[str, Mapping[str, Any]]
    """Of keys, by ARN."""
    account: str
    region: str

    def lacks(self) -> Iterator[str]:
        """What policies lack, a line for each use: who lacks which actions on whose key, the error of AWS, and the source."""
        for use in key_uses():
            for name, made in self.resources.get(use.of, {}).items():
                policy = (
                    made["KeyPolicy"] if use.of == "AWS::KMS::Key" else self.policies.get(KEY_OF[use.of](made) or "")
                )
                if policy is None or not self._is_used(use, name, made):
                    continue
                if missing := missing_actions(use, policy, made, self.account, self.region):
                    end = use.error.format(arn=context_of(use, made, self.account, self.region).get(*ARN_OF_LOGS))
                    yield f"{name}: {use.service} lacks {', '.join(missing)}: {end or 'what it sends is lost'} ({use.source})"

    def _is_used(self, use: KeyUse, name: str, made: Mapping[str, Any]) -> bool:
        if use.bucketKey:
            bucket = self.resources["AWS::S3::Bucket"].get(made[use.bucketKey], {})
            return bool(_encryption(bucket).get("BucketKeyEnabled"))
        others = json.dumps(self.resources.get(use.by, {}))
        return not use.by or re.search(rf'[:"]{re.escape(name)}"', others) is not None


ARN_OF_LOGS: Final = ("kms:EncryptionContext:aws:logs:arn", "")


def _encryption(bucket: Mapping[str, Any]) -> Mapping[str, Any]:
    rules = bucket.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", ())
    return rules[0] if rules else {}


def context_of(use: KeyUse, made: Mapping[str, Any], account: str, region: str) -> dict[str, str]:
    """The condition keys of a use of a resource."""
    names = {name: value for name, value in made.items() if isinstance(value, str)}
    return {key: value.format(account=account, region=region, **names) for key, value in use.context.items()}


def missing_actions(
    use: KeyUse, policy: Mapping[str, Any], made: Mapping[str, Any], account: str, region: str
) -> list[str]:
    """The actions of a use that the policy of a key does not allow, for a resource with these properties."""
    principal = account if use.service == ACCOUNT else use.service.format(region=region)
    context = context_of(use, made, account, region)
    applying = [each for each in policy["Statement"] if _names(each, principal) and _holds(each, context)]
    return [
        action for action in use.actions if not _covers(applying, "Allow", action) or _covers(applying, "Deny", action)
    ]


def _covers(statements: list[Mapping[str, Any]], effect: str, action: str) -> bool:
    return any(
        each["Effect"] == effect and any(fnmatchcase(action.lower(), one.lower()) for one in _listed(each["Action"]))
        for each in statements
    )


def _names(statement: Mapping[str, Any], principal: str) -> bool:
    """Whether a statement is for a service, or for the account by its root (which a denial of everybody is not decided by)."""
    named = statement["Principal"]
    if named == "*":
        return False
    if principal.isdigit():
        return any(f":{principal}:root" in each or each == principal for each in _listed(named.get("AWS", [])))
    return principal in _listed(named.get("Service", []))


def _holds(statement: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    """Whether the conditions hold. Raises KeyError for an operator that no statement had: then it has to be written here."""
    given = {key.lower(): value for key, value in context.items()}
    for operator, wanted in statement.get("Condition", {}).items():
        for key, values in wanted.items():
            if key.lower() not in given or not any(
                OPERATORS[operator](given[key.lower()], each) for each in _listed(values)
            ):
                return False
    return True


OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "StringEquals": str.__eq__,
    "StringLike": fnmatchcase,
    "ArnEquals": fnmatchcase,
    "ArnLike": fnmatchcase,
}


def _listed(value: Any) -> list[str]:  # noqa: ANN401 - a text or a list of them
    return [value] if isinstance(value, str) else list(value)


def refusing(
    handler: Callable[..., Any], kind: str, policy_of: Callable[[str], Any], region: str
) -> Callable[..., Any]:
    """CloudFormation's maker of resources of a type, which is refused as AWS refuses it where the key's policy lacks something.

    `policy_of`: the account and the policy of a key by its ARN; None for one that is not there.
    """

    def made(logical_id: str, properties: dict[str, Any], *more: Any) -> Any:  # noqa: ANN401 - of the emulator
        if (key := KEY_OF[kind](properties)) and (found := policy_of(key)):
            account, policy = found
            document = json.loads(policy) if isinstance(policy, str) else policy
            own = StackKeys({kind: {logical_id: properties}}, {key: document}, account, region)
            for lack in own.lacks():
                raise ValueError(lack)
        return handler(logical_id, properties, *more)

    return made

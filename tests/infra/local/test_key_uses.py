"""What AWS's services ask of the keys of a stack: the template's own policy has it, and a policy that lacks it is refused."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.aws.key_uses import KEY_OF, StackKeys, key_uses, refusing
from lakegate.base.extension_points import ROOT
from lakegate.features.deployment.parameter_values import PROFILES
from tests.sam.built import Stack

TEMPLATE = ROOT / "template.yaml"
ACCOUNT, REGION = "123456789012", "eu-west-1"
OWN = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/Key"
GIVEN = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1"
OPTIONS = {
    "AuditQuarantine": "yes",
    "AnchorDays": "30",
    "AlarmTopic": f"arn:aws:sns:{REGION}:{ACCOUNT}:theirs",
    "TableDatabase": "accepted",
    "SigningKey": "own",
    "ExistingLakeBucket": "given-lake",
}
"""Parameters that decide what uses a key. Every combination is tried, beside the profiles."""
EVERYTHING = OPTIONS | {"AlarmTopic": "", "ExistingLakeBucket": "", "KmsKey": "own"}
TYPES = {*KEY_OF, "AWS::KMS::Key", "AWS::Events::Rule", "AWS::CloudWatch::Alarm"}


def keys_of(policy: dict[str, Any] | None = None, **parameters: str) -> StackKeys:
    """The resources of a stack that use a key, whose policy is the template's own or another one."""
    stack = Stack.read(TEMPLATE, **parameters)
    own = policy or Stack.read(TEMPLATE, KmsKey="own").resources("AWS::KMS::Key")["Key"]["KeyPolicy"]
    resources = {kind: stack.resources(kind) for kind in TYPES}
    if policy and "Key" in resources["AWS::KMS::Key"]:
        resources["AWS::KMS::Key"]["Key"]["KeyPolicy"] = policy
    return StackKeys(resources, {OWN: own, GIVEN: own}, ACCOUNT, REGION)


def combinations() -> Iterator[dict[str, str]]:
    for chosen in itertools.product((False, True), repeat=len(OPTIONS)):
        parameters = {name: OPTIONS[name] for name, is_chosen in zip(OPTIONS, chosen, strict=True) if is_chosen}
        yield parameters | {"KmsKey": "own"}
    yield EVERYTHING | {"KmsKey": GIVEN}
    yield from (values | {"KmsKey": values["KmsKey"]} for values in PROFILES.values() if values.get("KmsKey"))


def test_the_template_gives_every_service_what_it_asks() -> None:
    """In every combination of parameters with a key, and with the statements of the template copied to a given one."""
    assert {each.get("KmsKey") for each in combinations()} == {"own", GIVEN}
    assert [lack for parameters in combinations() for lack in keys_of(**parameters).lacks()] == []


def own_policy() -> dict[str, Any]:
    policy: dict[str, Any] = Stack.read(TEMPLATE, KmsKey="own").resources("AWS::KMS::Key")["Key"]["KeyPolicy"]
    return copy.deepcopy(policy)


STATEMENTS = [each["Sid"] for each in own_policy()["Statement"]]
USERS = {
    "PoliciesOfThisAccountDecide": {"the account"},
    "EncryptedQueuesAndTopic": {"events.amazonaws.com", "cloudwatch.amazonaws.com"},
    "EncryptedLogs": {"logs.{region}.amazonaws.com"},
    "EncryptedAuditTrail": {"cloudtrail.amazonaws.com"},
}


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_that_is_missing_is_found(sid: str) -> None:
    """Each statement is there for the services that lack something without it; every use of the table is one of a stack."""
    policy = own_policy()
    policy["Statement"] = [each for each in policy["Statement"] if each["Sid"] != sid]

    lacking = {line.partition(": ")[2].partition(" lacks")[0] for line in keys_of(policy, **EVERYTHING).lacks()}

    assert lacking == USERS[sid]


@pytest.mark.parametrize("sid", STATEMENTS)
def test_an_action_or_a_condition_less_is_found(sid: str) -> None:
    """Each action that a statement names is asked for by a service, and another account's condition denies it."""
    policy = own_policy()
    (statement,) = (each for each in policy["Statement"] if each["Sid"] == sid)
    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    for action in actions:
        statement["Action"] = [each for each in actions if each != action]
        assert list(keys_of(policy, **EVERYTHING).lacks()), action
    statement |= {"Action": actions, "Condition": {"StringEquals": {"aws:SourceAccount": "999999999999"}}}

    assert list(keys_of(policy, **EVERYTHING).lacks())


def test_every_use_is_played_by_a_stack() -> None:
    """With a policy that allows nothing each row of the table is refused, with AWS's error where the resource is not made."""
    lacks = list(keys_of({"Statement": []}, **EVERYTHING).lacks())

    for use in key_uses():
        assert [
            each for each in lacks if f"{use.service} lacks {', '.join(use.actions)}: " in each and use.source in each
        ], use
    assert any("InsufficientEncryptionPolicyException" in each for each in lacks)


def test_the_key_that_signs_is_no_key_of_data() -> None:
    """An asymmetric key encrypts nothing; its policy lets nobody but the functions that commit sign, and can be changed."""
    for name in ("own", GIVEN):
        keys = keys_of(KmsKey=name, SigningKey="own", AnchorDays="1")
        signing = keys.resources["AWS::KMS::Key"]["LedgerKey"]
        roles = signing["KeyPolicy"]["Statement"][1]["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]
        used = {KEY_OF[kind](made) for kind in KEY_OF for made in keys.resources[kind].values()} - {None}

        assert used == {OWN if name == "own" else GIVEN}
        assert [each.rpartition("/")[2] for each in roles] == [
            "IntakeRole",
            "CompletionRole",
            "SweepRole",
            "AnchorRole",
        ]
    signing["KeyPolicy"]["Statement"].pop(0)
    assert ["MalformedPolicyDocumentException" in each for each in keys.lacks()] == [True]


def test_the_local_stack_refuses_a_log_group_as_aws_does() -> None:
    """Its maker is called where the policy of the key lets Logs use it for this log group, and else the error is AWS's."""
    made = refusing(
        lambda *given: given, "AWS::Logs::LogGroup", lambda _arn: (ACCOUNT, json.dumps(own_policy())), REGION
    )
    group = {"KmsKeyId": OWN, "LogGroupName": "/lakegate/lakegate/intake"}

    assert made("Log", group, "lakegate") == ("Log", group, "lakegate")
    assert made("Log", {"LogGroupName": "/elsewhere"}, "lakegate")
    with pytest.raises(
        ValueError, match=r"InvalidParameterException: The specified KMS key .* '.*log-group:/elsewhere'"
    ):
        made("Log", group | {"LogGroupName": "/elsewhere"}, "lakegate")

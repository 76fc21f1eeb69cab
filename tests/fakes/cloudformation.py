"""CloudFormation with the rules of change sets that repairs and deployments depend on, from AWS's documents; moto has none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

ARN = "arn:aws:cloudformation:us-east-1:123456789012:stack/lakegate/1"
TABLES = ("registry", "workloads", "ledger")


@dataclass
class Resource:
    """A resource of the template, as it was deployed and as it is there."""

    kind: str
    wanted: str
    there: str | None
    """Its properties; None: somebody deleted it."""
    is_replaced: bool = False
    """Whether to change it back takes another one."""


@dataclass
class CloudFormation:
    """One stack. A parameter that a change set does not name gets the default of the template."""

    defaults: dict[str, str]
    parameters: dict[str, str]
    resources: dict[str, Resource]
    failure: str = ""
    """Why an execution is rolled back."""
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    status: str = "CREATE_COMPLETE"
    ahead: str = ""
    """The state that an execution ends in, until somebody has seen it."""
    is_protected: bool = False
    updates: int = 0
    late: int = 0
    """Looks at the stack after an execution that still see it as it was before."""
    triggers: list[dict[str, str]] = field(default_factory=list)
    """Alarms of the last operation, which count again where an operation names none (API reference, RollbackConfiguration)."""
    ringing: frozenset[str] = frozenset()
    """ARNs of alarms: an operation that one of them is a trigger of is rolled back at once."""

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803, ARG002 - as boto3 has it
        """With its parameters, in one page."""
        if self.late and self.ahead:
            self.late -= 1
        elif self.ahead:
            self.status, self.updates, self.ahead = self.ahead, self.updates + 1, ""
        parameters = [{"ParameterKey": name, "ParameterValue": "****"} for name in self.parameters]
        names = {"LandingBucket": "landing", "LakeBucket": "lake"} | {
            f"{each.capitalize()}Table": each for each in TABLES
        }
        stack = {
            "StackId": ARN,
            "StackName": "lakegate",
            "StackStatus": self.status,
            "LastUpdatedTime": self.updates,
            "Parameters": parameters,
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in names.items()],
            "Capabilities": ["CAPABILITY_IAM"],
            "EnableTerminationProtection": self.is_protected,
        }
        return {"Stacks": [stack]}

    def create_change_set(self, **request: Any) -> dict[str, str]:
        """API reference, CreateChangeSet, and `Parameter`; user guide, "Using drift-aware change sets"."""
        assert request["Capabilities"] == ["CAPABILITY_IAM"]
        assert request["UsePreviousTemplate"]
        given = {each["ParameterKey"]: each for each in request["Parameters"]}
        after = {
            name: self.parameters[name] if given.get(name, {}).get("UsePreviousValue") else default
            for name, default in self.defaults.items()
        }
        changed = [{"Action": "Modify", "LogicalResourceId": "All", "ResourceType": "AWS::Lambda::Function"}]
        changes = changed if after != self.parameters else []
        if request.get("DeploymentMode") == "REVERT_DRIFT":
            changes += [
                {
                    "Action": "Add" if each.there is None else "Modify",
                    "LogicalResourceId": name,
                    "ResourceType": each.kind,
                    "Replacement": str(each.is_replaced),
                }
                for name, each in self.resources.items()
                if each.there != each.wanted
            ]
        identity = f"arn:changes/{len(self.made)}"
        triggers = request.get("RollbackConfiguration", {}).get("RollbackTriggers", self.triggers)
        described = [{"ResourceChange": each} for each in changes]
        self.made[identity] = {"after": after, "changes": described, "triggers": triggers}
        return {"Id": identity, "StackId": ARN}

    def describe_change_set(self, ChangeSetName: str, NextToken: str = "0") -> dict[str, Any]:  # noqa: N803 - likewise
        """One change a page; a set without any has failed."""
        made, at = self.made[ChangeSetName], int(NextToken)
        if not made["changes"]:
            reason = (
                "The submitted information didn't contain changes. Submit different information to create a change set."
            )
            return {"ChangeSetId": ChangeSetName, "Status": "FAILED", "StatusReason": reason}
        page = {"ChangeSetId": ChangeSetName, "Status": "CREATE_COMPLETE", "Changes": made["changes"][at : at + 1]}
        return {**page, "NextToken": str(at + 1)} if at + 1 < len(made["changes"]) else page

    def delete_change_set(self, ChangeSetName: str) -> None:  # noqa: N803 - likewise
        """Forget it."""
        del self.made[ChangeSetName]

    def execute_change_set(self, ChangeSetName: str) -> None:  # noqa: N803 - likewise
        """All of it, or nothing."""
        made = self.made.pop(ChangeSetName)
        self.triggers = made["triggers"]
        if rung := [each["Arn"] for each in self.triggers if each["Arn"] in self.ringing]:
            self.failure = f"Rollback triggers: {rung[0]} is in ALARM"
        self.ahead = "UPDATE_ROLLBACK_COMPLETE" if self.failure else "UPDATE_COMPLETE"
        self.parameters = made["after"]
        for each in () if self.failure else self.resources.values():
            each.there = each.wanted

    def update_termination_protection(self, StackName: str, EnableTerminationProtection: bool) -> None:  # noqa: N803, ARG002, FBT001 - likewise
        """While it is on, DeleteStack is refused."""
        self.is_protected = EnableTerminationProtection

    def describe_stack_events(self, StackName: str) -> dict[str, Any]:  # noqa: N803, ARG002 - likewise
        """The newest first; of an earlier operation, and of the latest one when it has ended."""
        event = {"LogicalResourceId": "Rule", "ResourceStatus": "UPDATE_FAILED", "ResourceStatusReason": self.failure}
        cancelled = {**event, "LogicalResourceId": "Other", "ResourceStatusReason": "Resource update cancelled"}
        earlier = {**event, "ResourceStatusReason": "an earlier failure", "EventId": "0"}
        latest = [{"LogicalResourceId": "s", "ResourceStatus": self.status, "EventId": "3"}]
        if self.failure:
            latest += [{**cancelled, "EventId": "2"}, {**event, "EventId": "1"}]
        return {"StackEvents": [*(latest if self.updates else ()), earlier]}


FIXED = {"AWS::DynamoDB::Table": "TableName"}
"""By type the property whose change replaces a resource."""


@dataclass
class DeployableCloudFormation:
    """CloudFormation that makes a stack by the template at an address, and changes it by another one.

    Rules of parameters (API reference, `Parameter`): one that the template does not have is refused, and so is the previous value
    of one that the stack does not have; one that is not named has the default.
    """

    read: Any
    """The text behind an address."""
    template: dict[str, Any] | None = None
    """Of the stack; None: there is none."""
    values: dict[str, str] = field(default_factory=dict)
    status: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    others: tuple[str, ...] = ()
    """Names of other stacks of Lakegate."""
    updates: int = 0

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - as boto3 has it
        """A stack that is deleted has no name any more, but is described by its ARN."""
        if not self.status or (self.status == "DELETE_COMPLETE" and StackName != ARN):
            raise refusal("DescribeStacks", "ValidationError")
        stack = {
            "StackId": ARN,
            "StackName": "lakegate",
            "StackStatus": self.status,
            "LastUpdatedTime": self.updates,
            "Parameters": [
                {"ParameterKey": name, "ParameterValue": value} for name, value in self.values.items() if self.template
            ],
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in self.outputs.items()],
        }
        return {"Stacks": [stack | ({"Description": self.template["Description"]} if self.template else {})]}

    def list_stacks(self) -> dict[str, Any]:
        """One page."""
        names = [*self.others, *(["lakegate"] if self.template else [])]
        return {
            "StackSummaries": [
                {"StackName": each, "StackStatus": "CREATE_COMPLETE", "TemplateDescription": "Lakegate: data contracts"}
                for each in names
            ]
        }

    def create_change_set(self, **request: Any) -> dict[str, str]:
        """API reference, CreateChangeSet: a new stack is under review until it is executed, or deleted."""
        self.requests.append(request)
        template = json.loads(self.read(request["TemplateURL"]))
        is_new = request.get("ChangeSetType") == "CREATE"
        if is_new == bool(self.template) or request["Capabilities"] not in (["CAPABILITY_IAM"], ("CAPABILITY_IAM",)):
            raise refusal("CreateChangeSet", "ValidationError")
        defaults = {name: str(each["Default"]) for name, each in template["Parameters"].items()}
        after = dict(defaults)
        for each in request["Parameters"]:
            name = each["ParameterKey"]
            if name not in defaults or (each.get("UsePreviousValue") and name not in self.values):
                raise refusal("CreateChangeSet", "ValidationError")
            after[name] = self.values[name] if each.get("UsePreviousValue") else each["ParameterValue"]
        before = _resolved(self.template, self.values) if self.template else {}
        changes = list(_differences(before, _resolved(template, after)))
        identity = f"arn:changes/{len(self.requests)}"
        self.made[identity] = {"template": template, "after": after, "changes": changes}
        if is_new:
            self.status = "REVIEW_IN_PROGRESS"
        return {"Id": identity, "StackId": ARN}

    def describe_change_set(self, ChangeSetName: str) -> dict[str, Any]:  # noqa: N803 - likewise
        """One without changes has failed."""
        changes = self.made[ChangeSetName]["changes"]
        if not changes:
            return {"ChangeSetId": ChangeSetName, "Status": "FAILED", "StatusReason": "No updates are to be performed."}
        shown = [{"ResourceChange": each} for each in changes]
        return {"ChangeSetId": ChangeSetName, "Status": "CREATE_COMPLETE", "Changes": shown}

    def delete_change_set(self, ChangeSetName: str) -> None:  # noqa: N803 - likewise
        """Forget it; a stack under review stays."""
        del self.made[ChangeSetName]

    def delete_stack(self, StackName: str) -> None:  # noqa: N803 - likewise
        """Only one that was never made, or whose creation was rolled back; all others keep their buckets and tables."""
        assert StackName == ARN
        assert self.status in {"REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"}
        self.status = "" if self.status == "REVIEW_IN_PROGRESS" else "DELETE_COMPLETE"

    def execute_change_set(self, ChangeSetName: str) -> None:  # noqa: N803 - likewise
        """A creation that fails is rolled back, and what it made is gone; after `OnStackFailure: DELETE` some of it is kept."""
        made, is_new = self.made.pop(ChangeSetName), self.template is None
        verb = "CREATE" if is_new else "UPDATE"
        self.updates += 1
        if self.failure:
            self._tell("Rule", f"{verb}_FAILED", self.failure)
            self.status = "ROLLBACK_COMPLETE" if is_new else "UPDATE_ROLLBACK_COMPLETE"
        else:
            for each in made["changes"]:
                self._tell(each["LogicalResourceId"], f"{verb}_COMPLETE", "")
            self.template, self.values, self.status = made["template"], made["after"], f"{verb}_COMPLETE"
            lake = self.values.get("ExistingLakeBucket") or "lakegate-lake"
            landing = self.values.get("ExistingLandingBucket") or "lakegate-landing"
            self.outputs = {
                "LakeBucket": lake,
                "LandingBucket": landing,
                **{f"{each.capitalize()}Table": each for each in TABLES},
                "EventBusName": "default",
                "ApplicationId": "00f1",
                "SweepFunction": "sweep",
                "IntakeFunction": "intake",
                "CompletionFunction": "completion",
            }
        self._tell("lakegate", self.status, "")

    def _tell(self, name: str, status: str, reason: str) -> None:
        event = {"EventId": str(len(self.events)), "LogicalResourceId": name, "ResourceStatus": status}
        self.events.insert(0, event | ({"ResourceStatusReason": reason} if reason else {}))

    def describe_stack_events(self, StackName: str) -> dict[str, Any]:  # noqa: N803, ARG002 - likewise
        """The newest first."""
        return {"StackEvents": list(self.events)}

    def list_stack_resources(self, StackName: str) -> dict[str, Any]:  # noqa: N803, ARG002 - likewise
        """Physical names are the logical ones behind the stack's."""
        names = self.template["Resources"] if self.template else ()
        found = [{"LogicalResourceId": each, "PhysicalResourceId": f"lakegate-{each}"} for each in names]
        return {"StackResourceSummaries": found}


def refusal(operation: str, code: str) -> ClientError:
    """An error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": ""}}, operation)


def _resolved(template: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    """The resources that a stack has, with values in the place of `Ref`; a condition is a parameter that is empty."""

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if isinstance(node, dict):
            return (
                values.get(node["Ref"], node["Ref"]) if set(node) == {"Ref"} else {k: plain(v) for k, v in node.items()}
            )
        return node

    kept = {name: each for name, each in template["Resources"].items() if not values.get(each.get("Condition", ""))}
    return {name: {"Type": each["Type"], "Properties": plain(each["Properties"])} for name, each in kept.items()}


def _differences(before: dict[str, Any], after: dict[str, Any]) -> Any:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        kind = (now or was or {})["Type"]
        change = {"LogicalResourceId": name, "ResourceType": kind}
        if was is None or now is None:
            yield {**change, "Action": "Add" if was is None else "Remove"}
            continue
        fixed = FIXED.get(kind, "")
        is_replaced = was["Properties"].get(fixed) != now["Properties"].get(fixed)
        yield {**change, "Action": "Modify", "Replacement": str(is_replaced)}

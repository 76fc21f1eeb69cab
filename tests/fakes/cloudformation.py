"""CloudFormation with the rules of change sets that a repair depends on, from AWS's documents; moto has none of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
            "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/lakegate/1",
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
        self.made[identity] = {"after": after, "changes": [{"ResourceChange": each} for each in changes]}
        return {"Id": identity}

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
        self.ahead = "UPDATE_ROLLBACK_COMPLETE" if self.failure else "UPDATE_COMPLETE"
        self.parameters = self.made.pop(ChangeSetName)["after"]
        for each in () if self.failure else self.resources.values():
            each.there = each.wanted

    def update_termination_protection(self, StackName: str, EnableTerminationProtection: bool) -> None:  # noqa: N803, ARG002, FBT001 - likewise
        """While it is on, DeleteStack is refused."""
        self.is_protected = EnableTerminationProtection

    def describe_stack_events(self, StackName: str) -> dict[str, Any]:  # noqa: N803, ARG002 - likewise
        """The newest first."""
        event = {"LogicalResourceId": "Rule", "ResourceStatus": "UPDATE_FAILED", "ResourceStatusReason": self.failure}
        return {"StackEvents": [{"LogicalResourceId": "s", "ResourceStatus": self.status}, event]}

"""The template as SAM built it, and what a deployed stack would make of its intrinsic functions."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local.local_stack import BYTECODE
from infra.packaging import bundles
from infra.setup.environments import program
from lakegate.base.extension_points import TOOLS

ROOT = Path(__file__).parents[2]
QUIET = {
    "SAM_CLI_TELEMETRY": "0",
    "SAM_CLI_POLL_DELAY": "0.2",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
HERE = "eu-west-1:123456789012"
PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Region": "eu-west-1",
    "AWS::Partition": "aws",
    "AWS::StackName": "lakegate",
    "AWS::URLSuffix": "amazonaws.com",
}


class _Loader(yaml.CSafeLoader):
    """Reads the short forms of intrinsic functions, too: `!Sub text` as `{"Fn::Sub": text}`."""


def _intrinsic(loader: yaml.CSafeLoader, name: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    match node:
        case yaml.ScalarNode():
            value = loader.construct_scalar(node)
        case yaml.SequenceNode():
            value = loader.construct_sequence(node, deep=True)
        case _:
            value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type] # the third kind of node
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _intrinsic)
ABSENT = {"Ref": "AWS::NoValue"}
ARNS = {
    "AWS::CloudWatch::Alarm": f"arn:aws:cloudwatch:{HERE}:alarm:",
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{HERE}:table/",
    "AWS::EMRServerless::Application": f"arn:aws:emr-serverless:{HERE}:/applications/",
    "AWS::Events::EventBus": f"arn:aws:events:{HERE}:event-bus/",
    "AWS::Events::Rule": f"arn:aws:events:{HERE}:rule/",
    "AWS::IAM::Role": "arn:aws:iam::123456789012:role/",
    "AWS::KMS::Key": f"arn:aws:kms:{HERE}:key/",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{HERE}:log-group:",
    "AWS::S3::Bucket": "arn:aws:s3:::",
    "AWS::SNS::Topic": f"arn:aws:sns:{HERE}:",
    "AWS::SQS::Queue": f"arn:aws:sqs:{HERE}:",
    "AWS::Serverless::Function": f"arn:aws:lambda:{HERE}:function:",
}


@cache
def _document(path: Path) -> dict[str, Any]:
    """A template; nobody changes it."""
    document: dict[str, Any] = yaml.load(path.read_text(), _Loader)  # noqa: S506 - a safe loader, with the template's tags
    return document


def packed(folder: Path, kept: Path) -> Path:
    """The functions' bundle, for this machine's Python and as small as it is deployed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "QUICK", bundles.LEVEL)
        return bundles.bundle_functions(ROOT, TOOLS, folder, kept)


def build(folder: Path) -> Path:
    """Package the functions and run `sam build`, all below a folder; the built template."""
    for name in ("template.yaml", "tenant.yaml", "samconfig.toml", ".cfnlintrc", ".checkov.yaml"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    packed(folder / "build", BYTECODE)
    for name in ("judge", "pull", "table"):  # SAM uploads them, and nothing is made of them by default
        (folder / "build" / name).mkdir()
        (folder / f"build/{name}/{name}.zip").symlink_to(folder / "build/lambda/functions.zip")
    sam("build", folder=folder)
    return folder / ".aws-sam/build/template.yaml"


def sam(*words: str, folder: Path = ROOT, **environment: str) -> str:
    """What SAM prints; an error shows its output."""
    return run(program("sam/sam"), *words, folder=folder, **environment)


def run(tool: Path, *words: str, folder: Path = ROOT, **environment: str) -> str:
    """What a tool prints; an error shows its output."""
    ended = subprocess.run(  # noqa: S603 - tools of ours
        [tool, *words], cwd=folder, env=QUIET | environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def _merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    both = {name for name in own if isinstance(own[name], dict) and isinstance(shared.get(name), dict)}
    return {**shared, **own, **{name: _merged(shared[name], own[name]) for name in both}}


@dataclass
class Stack:
    """A template with values for its parameters; each resource is known by its logical id."""

    template: dict[str, Any]
    values: dict[str, str] = field(default_factory=dict)
    """Of parameters, and of resources where `Ref` of one should say something else."""

    @classmethod
    def read(cls, path: Path, **values: str) -> Stack:
        """The stack that a built template would become."""
        document = _document(path)
        defaults = {name: str(each.get("Default", "")) for name, each in document["Parameters"].items()}
        return cls(document, {**PSEUDO, **defaults, **values})

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Properties of the resources of a type that the stack has, resolved, by logical id."""
        return {
            name: self.resolve(each["Properties"])
            for name, each in self.template["Resources"].items()
            if each["Type"] == kind and ("Condition" not in each or self.holds(each["Condition"]))
        }

    def function(self, name: str) -> dict[str, Any]:
        """A function's properties, with those that all share: SAM merges maps, and replaces everything else."""
        shared = self.resolve(self.template["Globals"]["Function"])
        return _merged(shared, self.resources("AWS::Serverless::Function")[name])

    def resolve(self, value: Any) -> Any:
        """A value without its intrinsic functions."""
        if isinstance(value, list):
            return [self.resolve(each) for each in value if not self._absent(each)]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (name, argument), *_ = value.items()
            if name in self._functions():
                return self._functions()[name](argument)
        return {name: self.resolve(each) for name, each in value.items() if not self._absent(each)}

    def holds(self, condition: str) -> bool:
        """Whether a condition of the template holds."""
        return bool(self.resolve(self.template["Conditions"][condition]))

    def _functions(self) -> dict[str, Any]:
        return {
            "Ref": self._ref,
            "Fn::GetAtt": self._attribute,
            "Fn::Sub": self._substituted,
            "Fn::Join": lambda parts: parts[0].join(self.resolve(parts[1])),
            "Fn::Split": lambda parts: self.resolve(parts[1]).split(parts[0]),
            "Fn::ImportValue": self.resolve,
            "Fn::If": lambda parts: self.resolve(parts[1] if self.holds(parts[0]) else parts[2]),
            "Fn::Equals": lambda parts: self.resolve(parts[0]) == self.resolve(parts[1]),
            "Fn::Not": lambda parts: not self.resolve(parts[0]),
            "Fn::And": lambda parts: all(map(self.resolve, parts)),
            "Fn::Or": lambda parts: any(map(self.resolve, parts)),
            "Condition": self.holds,
        }

    def _substituted(self, argument: Any) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else argument
        values = {name: self.resolve(value) for name, value in own.items()}
        return re.sub(
            r"\$\{([\w:.]+)\}", lambda found: values[found[1]] if found[1] in values else self._named(found[1]), text
        )

    def _named(self, name: str) -> Any:
        return self._attribute(name.split(".")) if "." in name else self._ref(name)

    def _ref(self, name: str) -> Any:
        assert name in self.values or name in self.template["Resources"], name
        return self.values.get(name, name)

    def _attribute(self, path: str | list[str]) -> Any:
        name, attribute = path.split(".", 1) if isinstance(path, str) else path
        assert name in self.template["Resources"], name
        kind = self.template["Resources"][name]["Type"]
        return ARNS[kind] + self._ref(name) if attribute == "Arn" else self._ref(name)

    def _absent(self, value: Any) -> bool:
        if value == ABSENT:
            return True
        if isinstance(value, dict) and "Fn::If" in value:
            condition, yes, no = value["Fn::If"]
            return self._absent(yes if self.holds(condition) else no)
        return False

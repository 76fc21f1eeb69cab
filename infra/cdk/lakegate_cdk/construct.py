"""The released template as a nested stack of CDK."""

from __future__ import annotations

from aws_cdk import CfnStack, Fn, Stack, Token
from constructs import Construct

from lakegate_cdk.parameters import OUTPUTS, LakegateParameters
from lakegate_cdk.parent_names import refuse_long_name


class Lakegate(Construct):
    """Lakegate, by the address of its template, which `lakegate stack upload` prints."""

    def __init__(self, scope: Construct, identity: str, *, template_url: str, parameters: LakegateParameters) -> None:
        """Raises ValueError in a stack whose name is too long."""
        parent = Stack.of(scope).stack_name
        if not Token.is_unresolved(parent):
            refuse_long_name(parent)
        super().__init__(scope, identity)
        self.stack = CfnStack(self, "Stack", template_url=template_url, parameters=parameters.texts())
        self.stack.override_logical_id("lakegate")  # the stack's policies limit the length of its name

    @property
    def stack_name(self) -> str:
        """The name of the nested stack, for `lakegate --stack`."""
        return str(Fn.select(1, Fn.split("/", self.stack.ref)))

    def output(self, name: str) -> str:
        """An output of the template. Raises ValueError where it has none of that name."""
        if name not in OUTPUTS:
            raise ValueError(f"there is no output {name}")
        return str(Token.as_string(self.stack.get_att(f"Outputs.{name}")))

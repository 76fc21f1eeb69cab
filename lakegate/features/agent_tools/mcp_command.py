"""`lakegate mcp`: a server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.errors import SetUpError
from lakegate.cli.click_commands import Option
from lakegate.cli.options import Local, StackName
from lakegate.features.agent_tools.read_only_tools import DATA, ReadOnlyTools

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def serve_tools(
    *,
    root: Annotated[
        Path, Option(help="The folder below which files may be read; by default the current one.")
    ] = Path(),
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
) -> None:
    """Serve the read-only commands to an agent, by the Model Context Protocol: nothing that it asks can change anything.

    It needs the extra `mcp`. The agent's program starts it, and speaks with it on standard input and output.

    Example: lakegate mcp --root contracts/
    """
    server(ReadOnlyTools(root, ("--stack", stack, *(["--local"] if local else [])))).run("stdio")


def server(tools: ReadOnlyTools) -> MCPServer:
    """The server of some tools. SetUpError without the extra."""
    try:
        from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - an extra
        from mcp.types import ToolAnnotations  # noqa: PLC0415 - likewise
    except ImportError:
        raise SetUpError(
            "`lakegate mcp` needs the package mcp: install lakegate's wheel with [aws,mcp] (docs/agents.md)"
        ) from None
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    found = MCPServer(
        "lakegate", instructions=f"Data contracts and deliveries, read-only. {DATA}", version=version("lakegate")
    )
    for tool in tools.all:
        found.add_tool(tool, annotations=reads, structured_output=False)
    return found

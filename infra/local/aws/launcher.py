"""Serves the embedded AWS on a socket that was bound before: `python launcher.py FD`, by the Python of `.tools/ministack`.

Beside the standard library only that environment's packages can be imported here. Two things differ from the program
`ministack`: the socket is given (bound to loopback, its port known to everybody before the first request), and events of
EMR Serverless are let through. AWS refuses `aws.*` sources from customers; here the service that sends them is another
process. What is wrapped for that is a private name of ministack's: hence its exact pin.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LET_THROUGH = "aws.emr-serverless"


def main(descriptor: int) -> None:
    """Serve until SIGTERM or SIGINT, then end every local Lambda."""
    with socket.socket(fileno=os.dup(descriptor)) as given:
        # ministack reads the port when it is imported: queue addresses and its functions' environment hold it
        os.environ["GATEWAY_PORT"] = str(given.getsockname()[1])
    eventbridge = import_module("ministack.services.eventbridge")
    eventbridge._put_events = trusting(eventbridge._put_events)  # type: ignore[attr-defined] # noqa: SLF001 - see above
    config = import_module("hypercorn.config").Config()
    config.bind = [f"fd://{descriptor}"]
    config.keep_alive_timeout = 75
    try:
        asyncio.run(import_module("hypercorn.asyncio").serve(import_module("ministack.app").app, config))
    finally:
        import_module("ministack.core.lambda_runtime").reset()


def trusting(put_events: Callable[..., Any]) -> Callable[..., Any]:
    """PutEvents that takes events of EMR Serverless, in a request that holds no others, for AWS's own."""

    def put(data: dict[str, Any], allow_aws_source: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - ministack's
        sources = {entry.get("Source") for entry in data.get("Entries", ())}
        return put_events(data, allow_aws_source=allow_aws_source or sources == {LET_THROUGH})

    return put


if __name__ == "__main__":
    main(int(sys.argv[1]))

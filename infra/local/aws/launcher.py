"""Serves the embedded AWS on a socket that was bound before: `python launcher.py FD`, by the Python of `.tools/ministack`.

Beside the standard library and `local_emr.guard` only that environment's packages can be imported here. Twenty things differ
from the program `ministack`, sixteen of them by its private names, so its version is pinned exactly.

* Only programs that know the secret of this start are served (`local_emr.guard`), no pages: functions are code that runs here.

* A read of DynamoDB that may miss the last writes is refused (`strictness.py`): ministack answers it as if it were consistent.
* The socket is given: bound to loopback, so that its port is known before the first request.
* Events of EMR Serverless are let through. AWS refuses `aws.*` sources from customers; here their sender is another process.
* A queue runs as many batches at once as there are processors, for each has a process of its own.
* An asynchronous invocation reports its success, too, to the queue that its function names: ministack has failures only. They
  run as batches do, so many at once.
* CloudFormation makes applications of EMR Serverless, by the local one (`application.py`).
* A change set says of buckets and keys what replaces them: of types that it does not know, ministack says that all may.
* A copy of an object has the checksum that its request names, and is refused by the request's If-None-Match. ministack keeps
  the checksum of the source, and knows the condition of other writes only.
* An object that came in parts has the time when its upload was begun as Last-Modified, as in S3: ministack states its end.
* A read of an object obeys `Range` with a version id, too: ministack sends the whole version, and readers of ends of files find
  them damaged.
* What a key encrypts is not made where the key's policy does not let the service use it (`key_uses.py`): ministack reads none.
* A schedule that EventBridge Scheduler would refuse is not made (`strictness.py`): ministack takes any text.
* IAM's simulator of policies reads the context of its request: conditions of policies ask for it.
* An alarm over a formula is one over the first of its metrics: ministack refuses formulas, and evaluates no alarm.
* A function in a VPC reaches the services that have an endpoint there, and no others: connections to them are not answered, as
  in subnets without a way to the internet. ministack passes over the VPC of a function in a template.
* A bundle is unpacked once, and not for each of those processes and stacks: three thousand files, two seconds.
* Templates are read by the parser of YAML that is written in C.
* The names of services that ministack does not have are read from two lists of botocore. ministack reads its model of each of
  400 services for them, as soon as `lakegate doctor` asks for quotas: three seconds, 370 MB.
"""

from __future__ import annotations

import asyncio
import contextvars
import fcntl
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ADDRESS = "LAKEGATE_EMR_ADDRESS"
"""Variable with the file that holds the address of the local EMR Serverless."""
CODE = "LAKEGATE_CODE"
"""Variable with the folder for the contents of bundles."""
OPEN = re.compile(r"GET /_ministack/health|POST /_aws/execute-api/[^/]+/api/v1/workload/[0-9a-f]+/callback", re.ASCII)
"""Requests without a signature: whether the service is there, and the one route of the API that has a token in its body."""
KEPT_SECONDS = 86_400
FIXED = {"AWS::KMS::Key": (), "AWS::S3::Bucket": ("BucketName",)}
"""By type the properties whose change replaces a resource (`createOnlyProperties` of CloudFormation's registry)."""
LET_THROUGH = "aws.emr-serverless"
FUNCTION = "AWS::Lambda::Function"
ENDPOINT = "AWS_ENDPOINT_URL"
KEPT: list[socket.socket] = []
"""Sockets that stay open as long as this program runs."""
SERVICE_IDS = {"events": "EVENTBRIDGE", "secretsmanager": "SECRETS_MANAGER"}
"""How botocore's variables call services ("Service-specific endpoints" of the SDKs' guide), where endpoints have other names."""
AT_ONCE = max(2, os.cpu_count() or 1)
"""Batches of one queue, and asynchronous invocations whose end is reported."""


def main(descriptor: int) -> None:
    """Serve until SIGTERM or SIGINT, with every local Lambda in the process group of this program."""
    with socket.socket(fileno=os.dup(descriptor)) as given:
        # ministack reads the port when it is imported: queue addresses and its functions' environment hold it
        os.environ["GATEWAY_PORT"] = str(given.getsockname()[1])
    yaml = import_module("yaml")
    yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[attr-defined] # before ministack derives from it
    eventbridge = import_module("ministack.services.eventbridge")
    eventbridge._put_events = trusting(eventbridge._put_events)  # type: ignore[attr-defined] # noqa: SLF001 - see above
    functions = import_module("ministack.services.lambda_svc")
    functions._sqs_esm_concurrency = bounded(functions._sqs_esm_concurrency)  # type: ignore[attr-defined] # noqa: SLF001 - likewise
    functions.invoke_async_with_retry = reporting(functions, import_module("ministack.services.sqs"))  # type: ignore[attr-defined] # likewise
    objects = import_module("ministack.services.s3")
    objects._copy_object = copying(objects)  # type: ignore[attr-defined] # noqa: SLF001 - likewise
    completing(objects)
    objects._get_object = reading(objects)  # type: ignore[attr-defined] # noqa: SLF001 - likewise
    identities, evaluator = (import_module(f"ministack.{name}") for name in ("services.iam", "core.iam_evaluator"))
    identities._IAM_HANDLERS["SimulatePrincipalPolicy"] = simulating(identities, evaluator)  # noqa: SLF001 - likewise
    import_module("ministack.core.router")._is_aws_service_name = named(import_module("botocore.session").Session)  # type: ignore[attr-defined] # noqa: SLF001 - likewise
    runtime = import_module("ministack.core.lambda_runtime")
    runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": LinkedBundle})  # type: ignore[attr-defined] # likewise
    provisioners = import_module("ministack.services.cloudformation.provisioners")
    provisioners._REPLACING_PROPERTIES.update(FIXED)  # noqa: SLF001 - likewise
    evaluator = import_module("ministack.core.iam_evaluator")
    evaluator._gather_role_policies = by_name(evaluator._gather_role_policies)  # type: ignore[attr-defined] # noqa: SLF001 - likewise
    networks = import_module("ministack.services.ec2")
    handlers = provisioners._RESOURCE_HANDLERS[FUNCTION]  # noqa: SLF001 - likewise
    for action, position in (("create", 1), ("update", 2)):
        handlers[action] = placed(handlers[action], position, functions)
    runtime.Worker._spawn = confined(runtime.Worker._spawn, networks, unanswered())  # noqa: SLF001 - likewise
    schedules = provisioners._RESOURCE_HANDLERS["AWS::Scheduler::Schedule"]  # noqa: SLF001 - likewise
    schedules["create"] = punctual(schedules["create"], import_module("strictness").is_schedule)
    uses, keys = import_module("key_uses"), import_module("ministack.services.kms")
    for kind in uses.KEY_OF:
        if (handlers := provisioners._RESOURCE_HANDLERS.get(kind)) is not None:  # noqa: SLF001 - likewise
            handlers["create"] = uses.refusing(
                handlers["create"], kind, key_policy(keys), os.environ["MINISTACK_REGION"]
            )
    if ADDRESS in os.environ:
        application = import_module("application")
        made = application.handlers(Path(os.environ[ADDRESS]), os.environ["MINISTACK_REGION"])
        provisioners._RESOURCE_HANDLERS[application.TYPE] = made  # noqa: SLF001 - likewise
    config = import_module("hypercorn.config").Config()
    config.bind = [f"fd://{descriptor}"]
    config.keep_alive_timeout = 75
    sys.path.append(str(Path(__file__).parents[3] / "integrations/local_emr"))
    guard = import_module("local_emr.guard")
    app = import_module("ministack.app").app
    asyncio.run(serve(config, guarded(app, guard, os.environ[guard.VARIABLE], import_module("strictness").refusal)))


def guarded(app: Any, guard: Any, secret: str, refusal: Callable[[str, bytes], bytes]) -> Any:  # noqa: ANN401 - of ASGI, and the module
    """The application for those whom `guard` trusts, but for what has a `refusal`; its answers allow other origins nothing."""

    async def served(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        target, body, more = f"{path}?{scope['query_string'].decode('latin-1')}", b"", True
        read = receive
        operation = headers.get("x-amz-target", "")
        if operation or "x-amz-content-sha256" not in headers:
            while more:
                part = await receive()
                body, more = body + part.get("body", b""), part.get("more_body", False)
            read = replayed(body, receive)
        is_open = OPEN.fullmatch(f"{scope['method']} {path}") is not None
        status, answer = 403, b'{"message":"Forbidden"}'
        if guard.is_local(headers) and (is_open or guard.is_trusted(secret, scope["method"], target, headers, body)):
            status, answer = 400, refusal(operation, body)
            if not answer:
                await app(scope, read, without_cors(send))
                return
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": kind})
        await send({"type": "http.response.body", "body": answer})

    return served


def replayed(body: bytes, receive: Any) -> Any:  # noqa: ANN401 - of ASGI
    """Receives a body that was read before, then what follows."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Any:  # noqa: ANN401 - of ASGI
        return parts.pop() if parts else await receive()

    return read


def without_cors(send: Any) -> Any:  # noqa: ANN401 - of ASGI
    """Sends an answer without what allows pages of other origins to read it."""

    async def sent(message: dict[str, Any]) -> None:
        own = [each for each in message.get("headers", ()) if not each[0].lower().startswith(b"access-control-")]
        await send({**message, "headers": own} if "headers" in message else message)

    return sent


def copying(objects: Any) -> Callable[..., Any]:  # noqa: ANN401 - ministack's module
    """CopyObject with the condition and the checksum of its request.

    CopyObject names the algorithm of the copy in one header, PutObject in another, which is the one ministack reads.
    """
    copy_object = objects._copy_object  # noqa: SLF001 - see above

    def copied(bucket: str, key: str, headers: dict[str, str]) -> Any:  # noqa: ANN401 - ministack's
        there = (objects._ensure_bucket(bucket) or {}).get("objects", {}).get(key)  # noqa: SLF001 - see above
        wanted = headers.get("x-amz-checksum-algorithm")
        asked = {**headers, "x-amz-sdk-checksum-algorithm": wanted} if wanted else headers
        return objects._check_put_preconditions(headers, there) or copy_object(bucket, key, asked)  # noqa: SLF001 - see above

    return copied


def completing(objects: Any) -> None:  # noqa: ANN401 - ministack's module
    """CompleteMultipartUpload, whose object is as old as its upload (S3 user guide, "Working with object metadata")."""
    complete, record = objects._complete_multipart_upload, objects._record_object_version  # noqa: SLF001 - see above
    begun: contextvars.ContextVar[str] = contextvars.ContextVar("begun", default="")

    def recorded(bucket: str, key: str, before: Any, made: dict[str, Any], *data: Any) -> Any:  # noqa: ANN401 - ministack's
        made["last_modified"] = begun.get() or made["last_modified"]
        return record(bucket, key, before, made, *data)

    def completed(bucket: str, key: str, body: bytes, query: Any, *headers: Any) -> Any:  # noqa: ANN401 - likewise
        upload = objects._multipart_uploads.get(objects._qp(query, "uploadId"))  # noqa: SLF001 - see above
        token = begun.set(upload["created"] if upload else "")
        try:
            return complete(bucket, key, body, query, *headers)
        finally:
            begun.reset(token)

    objects._complete_multipart_upload, objects._record_object_version = completed, recorded  # noqa: SLF001 - likewise


def reading(objects: Any) -> Callable[..., Any]:  # noqa: ANN401 - ministack's module
    """GetObject that obeys the Range of a request with a version id; the checksum of the whole is no part of such an answer."""
    get_object = objects._get_object  # noqa: SLF001 - see above

    def read(bucket: str, key: str, headers: dict[str, str], query: Any = None) -> Any:  # noqa: ANN401 - ministack's
        wanted = headers.get("range") if (query or {}).get("versionId") else None
        if not wanted:
            return get_object(bucket, key, headers, query)
        asked = {name: value for name, value in headers.items() if name != "x-amz-checksum-mode"}
        status, sent, body = get_object(bucket, key, asked, query)
        if status != 200:  # noqa: PLR2004 - refused, or a range already
            return status, sent, body
        bounds = objects._parse_range(wanted, len(body))  # noqa: SLF001 - see above
        if bounds is None:
            refused = {"Content-Type": "application/xml", "Content-Range": f"bytes */{len(body)}"}
            return 416, refused, objects._xml_body(objects._range_error_xml(bucket, key))  # noqa: SLF001 - see above
        first, last = bounds
        part = body[first : last + 1]
        span = {"Content-Length": str(len(part)), "Content-Range": f"bytes {first}-{last}/{len(body)}"}
        return 206, {**sent, **span}, part

    return read


async def serve(config: Any, app: Any) -> None:  # noqa: ANN401 - hypercorn's, and of ASGI
    """Serve until a signal; then everything ends at once, functions included. All state is in memory, and lost."""
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, os.killpg, os.getpgrp(), signal.SIGKILL)
    never = asyncio.Event()
    await import_module("hypercorn.asyncio").serve(app, config, shutdown_trigger=never.wait)


def trusting(put_events: Callable[..., Any]) -> Callable[..., Any]:
    """PutEvents that takes events of EMR Serverless, in a request that holds no others, for AWS's own."""

    def put(data: dict[str, Any], allow_aws_source: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - ministack's
        sources = {entry.get("Source") for entry in data.get("Entries", ())}
        return put_events(data, allow_aws_source=allow_aws_source or sources == {LET_THROUGH})

    return put


def by_name(policies: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """The policies of a role by its name: ministack looks for the path before it, too, which an ARN has."""

    def gathered(role: str, account: str) -> Any:  # noqa: ANN401 - ministack's
        return policies(role.rpartition("/")[2], account)

    return gathered


def bounded(concurrency: Callable[..., int]) -> Callable[..., int]:
    """The number of batches of a queue that run at once: the value of its mapping, but no more than this machine can run."""

    def of(*arguments: Any) -> int:  # noqa: ANN401 - ministack's
        return min(AT_ONCE, concurrency(*arguments))

    return of


def reporting(functions: Any, queues: Any) -> Callable[[Any, Any], None]:  # noqa: ANN401 - ministack's modules
    """Asynchronous invocation; of a function without retries, a record of its end goes to the queue of its destination.

    The record has the form of AWS's (Lambda developer guide, Capturing records of Lambda asynchronous invocations).
    """
    invoke, running = functions.invoke_async_with_retry, threading.Semaphore(AT_ONCE)

    def run(function: Any, event: Any) -> None:  # noqa: ANN401 - ministack's
        settings = (
            function.get("event_invoke_config") or (function.get("event_invoke_configs") or {}).get("$LATEST") or {}
        )
        destinations = settings.get("DestinationConfig") or {}
        if settings.get("MaximumRetryAttempts") != 0 or not destinations.get("OnSuccess", {}).get("Destination"):
            invoke(function, event)
            return
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(report, function, event, destinations), daemon=True).start()

    def report(function: Any, event: Any, destinations: Any) -> None:  # noqa: ANN401 - ministack's
        with running:
            ended = functions._execute_function(function, event)  # noqa: SLF001 - see above
        failed = bool(ended.get("error"))
        arn = destinations["OnFailure" if failed else "OnSuccess"]["Destination"]
        record = {
            "version": "1.0",
            "requestContext": {"condition": "RetriesExhausted" if failed else "Success", "approximateInvokeCount": 1},
            "requestPayload": event,
            "responseContext": {"statusCode": 200},
            "responsePayload": ended.get("body"),
        }
        queues._act_send_message(  # noqa: SLF001 - see above
            {"MessageBody": json.dumps(record)},
            queues._queue_by_arn(arn)["url"],  # noqa: SLF001 - likewise
        )
        functions.esm_wake.set()

    return run


def placed(handler: Callable[..., Any], position: int, functions: Any) -> Callable[..., Any]:  # noqa: ANN401 - ministack's module
    """CloudFormation's handler of functions, which are in the VPC that their properties, the argument at a position, name."""

    def handled(*arguments: Any) -> Any:  # noqa: ANN401 - ministack's
        name, attributes = handler(*arguments)
        network = functions._vpc_config_with_id(arguments[position].get("VpcConfig"))  # noqa: SLF001 - see above
        functions._functions[name]["config"]["VpcConfig"] = network  # noqa: SLF001 - likewise
        return name, attributes

    return handled


def punctual(handler: Callable[..., Any], is_schedule: Callable[[str], bool]) -> Callable[..., Any]:
    """CloudFormation's maker of schedules, with Scheduler's answer to an expression that is none."""

    def made(name: str, properties: dict[str, Any], *more: Any) -> Any:  # noqa: ANN401 - ministack's
        if not is_schedule(expression := properties["ScheduleExpression"]):
            raise ValueError(f"ValidationException: Invalid Schedule Expression {expression}.")
        return handler(name, properties, *more)

    return made


def key_policy(keys: Any) -> Callable[[str], tuple[str, Any] | None]:  # noqa: ANN401 - ministack's module
    """The account and the policy of a key by its ARN."""

    def found(arn: str) -> tuple[str, Any] | None:
        record = keys._resolve_key(arn)  # noqa: SLF001 - see above
        return None if record is None else (record["Arn"].split(":")[4], record["Policy"])

    return found


def unanswered() -> str:
    """An address where nobody answers: its queue of connections is full, so that a further one runs into its time limit."""
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(0)
    waiting = [socket.socket() for _ in range(2)]
    for each in waiting:
        each.setblocking(False)
        each.connect_ex(silent.getsockname())
    KEPT.extend((silent, *waiting))
    return f"http://127.0.0.1:{silent.getsockname()[1]}"


def confined(spawn: Callable[[Any], Any], networks: Any, nowhere: str) -> Callable[[Any], Any]:  # noqa: ANN401 - ministack's module
    """Starts a process of a function; one in a VPC finds the services there that have an endpoint, all others nowhere.

    Endpoints are read when a process starts: those of before have what was there then.
    """

    def spawned(worker: Any) -> Any:  # noqa: ANN401 - ministack's
        network = worker.config.get("VpcConfig", {}).get("VpcId")
        if network:
            variables = worker.config["Environment"]["Variables"]
            endpoints = [value for value in networks._vpc_endpoints.all_values() if value["VpcId"] == network]  # noqa: SLF001 - see above
            found = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
            there = addresses(found, f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}", nowhere, variables)
            worker.config = {**worker.config, "Environment": {"Variables": {**variables, **there}}}
        return spawn(worker)

    return spawned


def addresses(services: set[str], here: str, nowhere: str, given: dict[str, str]) -> dict[str, str]:
    """Variables of a function that reaches services and no others; an address of a service that it was given stays if it may."""
    names = {f"{ENDPOINT}_{SERVICE_IDS.get(service, service.replace('-', '_').upper())}" for service in services}
    closed = {each for each in given if each.startswith(ENDPOINT) and each not in names}
    return {ENDPOINT: nowhere, **dict.fromkeys(closed, nowhere), **{name: given.get(name, here) for name in names}}


def simulating(identities: Any, evaluator: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - ministack's modules
    """SimulatePrincipalPolicy with the first value of each key of `ContextEntries`."""
    simulate, made = identities._simulate_principal_policy, evaluator.EvalContext  # noqa: SLF001 - see above
    given: contextvars.ContextVar[dict[str, str]] = contextvars.ContextVar("given")

    def context(*arguments: Any, **fields: Any) -> Any:  # noqa: ANN401 - ministack's
        return made(*arguments, **{"service_context": given.get({}), **fields})

    def simulated(parameters: Any) -> Any:  # noqa: ANN401 - likewise
        entries: dict[str, str] = {}
        for number in itertools.count(1):
            entry = f"ContextEntries.member.{number}"
            if not (key := identities._p(parameters, f"{entry}.ContextKeyName")):  # noqa: SLF001 - see above
                break
            entries[key.lower()] = identities._p(parameters, f"{entry}.ContextKeyValues.member.1")  # noqa: SLF001 - likewise
        token = given.set(entries)
        try:
            return simulate(parameters)
        finally:
            given.reset(token)

    evaluator.EvalContext = context
    return simulated


def named(session: Callable[[], Any]) -> Callable[[str], bool]:
    """Whether a signature's name of a service is one of AWS's: of a service, or of its endpoint."""

    @cache
    def names() -> frozenset[str]:
        catalogue = session()
        partitions = catalogue.get_data("endpoints")["partitions"]
        return frozenset(catalogue.get_available_services()).union(*(partition["services"] for partition in partitions))

    return lambda name: name in names()


class LinkedBundle(zipfile.ZipFile):
    """A bundle whose contents are unpacked once, for all stacks of this clone; further times a link leads there.

    A function's code folder is read-only in Lambda, so that its processes can share one. ministack writes the bundle for each
    process: it is deleted after use, because the judge's has 90 MB.
    """

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:  # noqa: ANN401 - zipfile's
        """Make `path`, an empty folder, a link to the contents, and delete the bundle."""
        assert self.filename is not None
        assert path is not None
        with open(self.filename, "rb") as file:  # noqa: PTH123 - a name, as zipfile has it
            home = (
                Path(os.environ.get(CODE, tempfile.gettempdir()))
                / f"code-{hashlib.file_digest(file, 'sha256').hexdigest()}"
            )
        with home.with_suffix(".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not home.exists():
                forget(home.parent)
                aside = home.with_suffix(".aside")
                shutil.rmtree(aside, ignore_errors=True)
                super().extractall(aside, members, pwd)
                aside.rename(home)
            os.utime(home)
        Path(path).rmdir()
        Path(path).symlink_to(home)
        Path(self.filename).unlink()


def forget(folder: Path) -> None:
    """Remove the contents of bundles that no process was started from for a day."""
    for path in folder.glob("code-*"):
        if path.is_dir() and time.time() - path.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
            path.with_suffix(".lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

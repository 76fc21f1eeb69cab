"""The API as AWS itself describes it: botocore's model of EMR Serverless finds the operation and judges the request.

Nothing about members, lengths, patterns or values is written down a second time here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.utils import parse_timestamp

from infra.local.emr.emr_errors import Invalid, SerializationError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from botocore.model import OperationModel, Shape, StructureShape

SERVICE: Final = "emr-serverless"


_LABEL: Final = re.compile(r"\\{(\w+)\\}")


@dataclass(frozen=True, slots=True)
class OperationRoute:
    """Where an operation is reached."""

    operation: str
    method: str
    path: re.Pattern[str]


@cache
def model() -> ServiceModel:
    """Botocore's description of the service."""
    return ServiceModel(Loader().load_service_model(SERVICE, "service-2"), SERVICE)


@cache
def routes() -> tuple[OperationRoute, ...]:
    """One route for every operation that AWS has."""
    return tuple(_route(model().operation_model(name)) for name in model().operation_names)


def read_request(method: str, target: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """The operation that an HTTP request names, and its members, checked against the model.

    Raises Unsupported for no operation of AWS, Malformed and Invalid for one that AWS would refuse unseen.
    """
    parts = urlsplit(target)
    for route in routes():
        found = route.path.fullmatch(parts.path)
        if found and route.method == method:
            operation = model().operation_model(route.operation)
            assert operation.input_shape is not None, "every operation of this service takes something"
            query = parse_qs(parts.query, keep_blank_values=True)
            request = _members(operation.input_shape, found.groupdict(), query, _document(body))
            refuse_violations(operation.input_shape, request)
            return route.operation, request
    raise Unsupported(f"no operation answers to {method} {parts.path}")


def refuse_violations(shape: Shape, request: Mapping[str, Any]) -> None:
    """Invalid with every constraint of the model that a request breaks; the values themselves are not repeated."""
    found = list(_violations(shape, request, ""))
    if found:
        raise Invalid(f"{len(found)} validation error{'s' * (len(found) > 1)} detected: {'; '.join(found)}")


def _route(operation: OperationModel) -> OperationRoute:
    path = _LABEL.sub(r"(?P<\1>[^/]+)", re.escape(operation.http["requestUri"]))
    return OperationRoute(operation.name, operation.http["method"], re.compile(path))


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        raise SerializationError("the body is not JSON") from None
    if not isinstance(document, dict):
        raise SerializationError("the body is not a JSON object")
    return document


def _members(
    shape: StructureShape, labels: Mapping[str, str], query: Mapping[str, list[str]], document: Mapping[str, Any]
) -> dict[str, Any]:
    request: dict[str, Any] = {}
    for name, member in shape.members.items():
        wire = member.serialization.get("name", name)
        match member.serialization.get("location"):
            case "uri":
                request[name] = unquote(labels[wire])
            case "querystring":
                if wire in query:
                    request[name] = _from_query(member, query[wire], name)
            case _:
                if document.get(wire) is not None:
                    request[name] = document[wire]
    return request


def _from_query(shape: Shape, values: list[str], name: str) -> object:
    readers: dict[str, Callable[[str], object]] = {"integer": int, "timestamp": parse_timestamp}
    if shape.type_name == "list":
        return values
    try:
        return readers.get(shape.type_name, str)(values[0])
    except ValueError:
        raise SerializationError(f"{name} is not of type {shape.type_name}") from None


def _violations(shape: Shape, value: object, path: str) -> Iterator[str]:
    expected, inner = _KINDS[shape.type_name]
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise SerializationError(f"{path} is not of type {shape.type_name}")
    yield from _bounds(shape, value, path)
    yield from inner(shape, value, path)


def _bounds(shape: Shape, value: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    size, measured = (value, "value") if isinstance(value, int | float) else (_length(value), "length")
    if size is not None and size < shape.metadata.get("min", size):
        yield _violation(path, f"have {measured} greater than or equal to {shape.metadata['min']}")
    if size is not None and size > shape.metadata.get("max", size):
        yield _violation(path, f"have {measured} less than or equal to {shape.metadata['max']}")


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None


def _structure(shape: Any, value: Mapping[str, Any], path: str) -> Iterator[str]:  # noqa: ANN401 - botocore's shapes are untyped
    for name in shape.required_members:
        if value.get(name) is None:
            yield _violation(_below(path, name), "not be null")
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _violations(member, value[name], _below(path, name))


def _list(shape: Any, value: list[object], path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    for place, each in enumerate(value, 1):
        yield from _violations(shape.member, each, f"{path}.{place}.member")


def _map(shape: Any, value: Mapping[str, object], path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    for key, each in value.items():
        yield from _violations(shape.key, key, f"{path}.key")
        yield from _violations(shape.value, each, f"{path}.{key}.member")


def _string(shape: Any, value: str, path: str) -> Iterator[str]:  # noqa: ANN401 - as above
    if shape.enum and value not in shape.enum:
        yield _violation(path, f"satisfy enum value set: [{', '.join(shape.enum)}]")
    pattern = shape.metadata.get("pattern")
    if pattern is not None and not re.fullmatch(pattern, value):
        yield _violation(path, f"satisfy regular expression pattern: {pattern}")


def _scalar(_shape: object, _value: object, _path: str) -> Iterator[str]:
    return iter(())


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _violation(path: str, constraint: str) -> str:
    return f"Value at '{path}' failed to satisfy constraint: Member must {constraint}"


_KINDS: Final[Mapping[str, tuple[Any, Callable[[Any, Any, str], Iterator[str]]]]] = {
    "structure": ((dict,), _structure),
    "list": ((list,), _list),
    "map": ((dict,), _map),
    "string": ((str,), _string),
    "integer": ((int,), _scalar),
    "long": ((int,), _scalar),
    "double": ((int, float), _scalar),
    "boolean": ((bool,), _scalar),
    "timestamp": ((object,), _scalar),
}

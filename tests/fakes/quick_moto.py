"""An AWS in this process whose calls cost half: what moto and botocore compute again for each call is computed once.

Nothing that a client of botocore sees is changed: each function of QUICKER has the results of the one that it replaces, and
`tests/unit/fakes/test_quick_moto.py` compares both.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import boto3
import botocore.useragent
import botocore.utils
from moto import mock_aws
from moto.core import models, responses
from moto.core.base_backend import BaseBackend
from moto.core.serialize import AttributePickerContext, ResponseSerializer, XFormedAttributePicker
from moto.core.utils import method_names_from_class
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.moto_api._internal.moto_random import MotoRandom
from moto.s3.responses import S3Response

from tests.fakes.strict_aws import strict_calls

if TYPE_CHECKING:
    from moto.core.config import DefaultConfig

REGION: Final = "us-east-1"
SCALARS: Final = frozenset({"S", "N", "B", "BOOL", "NULL"})
"""Types whose values moto never changes in place."""
_PICKER: Final = XFormedAttributePicker()


@contextmanager
def quick_aws(config: DefaultConfig | None = None) -> Iterator[None]:
    """`mock_aws` of moto, with the quicker functions and as strict as AWS; the configuration is moto's."""
    _hasten()
    with mock_aws(config=config), strict_calls():
        yield


@cache
def client(service: str) -> Any:
    """Made once: a client costs half a second, and moto answers it in whichever test it is used."""
    return _session().client(service)  # type: ignore[call-overload] # any service


@cache
def _session() -> boto3.Session:
    return boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name=REGION)


_URLS: Final[dict[type[BaseBackend], Any]] = {}


def _urls(backend: BaseBackend) -> Any:
    """Patterns and handlers: moto formats them, and reads the module of S3 again for other settings, which no test has."""
    kind = type(backend)
    if kind not in _URLS:
        _URLS[kind] = _published(BaseBackend, "urls").fget(backend)
    return _URLS[kind]


@cache
def _names(shape: Any, key: str) -> tuple[str, ...]:
    """Under which names a dictionary may have this member: they do not depend on its contents."""
    context = AttributePickerContext({}, key, shape)
    return tuple(dict.fromkeys(_PICKER.get_possible_keys(context)))


def _get_value(serializer: ResponseSerializer, value: Any, key: str, shape: Any) -> Any:
    picker: Any = serializer._value_picker  # noqa: SLF001 - of moto
    if type(value) is not dict or type(picker) is not XFormedAttributePicker or picker.response_transformers:
        return _published(ResponseSerializer, "get_value")(serializer, value, key, shape)
    return next((value[name] for name in _names(shape, key) if name in value), None)


@cache
def _of_host(host: str) -> bool:
    request = SimpleNamespace(headers={"host": host})
    return bool(_published(S3Response, "subdomain_based_buckets").__func__(request))


@lru_cache(maxsize=10_000)
def _in_utc(value: str) -> Any:
    return _published(botocore.utils, "_parse_timestamp_with_tzinfo")(value, None)


def _timestamp(value: Any, tzinfo: Any) -> Any:
    """A text that names UTC is read without the zone of this machine."""
    if isinstance(value, str) and value.endswith(("GMT", "Z")):
        return _in_utc(value)
    return _published(botocore.utils, "_parse_timestamp_with_tzinfo")(value, tzinfo)


def _copied(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    return value if value.type in SCALARS else _published(DynamoType, "__deepcopy__")(value, memo)


def _copied_item(item: Item, memo: dict[int, Any]) -> Item:
    result: Any = Item.__new__(Item)
    memo[id(item)] = result
    result.hash_key, result.range_key = item.hash_key, item.range_key  # scalars
    result.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    dict.update(result.attrs, {name: _copied(value, memo) for name, value in item.attrs.items()})
    return cast("Item", result)


def _random_string(
    random: MotoRandom,
    length: int = 20,
    include_digits: bool = True,  # noqa: FBT001, FBT002 - as moto
    lower_case: bool = False,  # noqa: FBT001, FBT002 - likewise
) -> str:
    """The same draws as by `choice`, of which each answer's identifier needs 52."""
    pool = string.ascii_letters + (string.digits if include_digits else "")
    drawn: list[str] = []
    while len(drawn) < length:
        number = random.getrandbits(6)
        drawn += pool[number : number + 1]
    return "".join(drawn).lower() if lower_case else "".join(drawn)


QUICKER: Final[tuple[tuple[Any, str, Any], ...]] = (
    (responses, "method_names_from_class", cache(method_names_from_class)),
    (BaseBackend, "urls", property(_urls)),
    (ResponseSerializer, "get_value", _get_value),
    (S3Response, "subdomain_based_buckets", staticmethod(lambda request: _of_host(request.headers["host"]))),
    (MotoRandom, "get_random_string", _random_string),
    (
        models,
        "RESPONSES_METHODS",
        [],
    ),  # answers for the library requests, which nothing here asks: 1,288 are set up in each test
    (DynamoType, "__deepcopy__", _copied),
    (Item, "__deepcopy__", _copied_item),
    (botocore.utils, "_parse_timestamp_with_tzinfo", _timestamp),
    (
        botocore.useragent,
        "sanitize_user_agent_string_component",
        cache(botocore.useragent.sanitize_user_agent_string_component),
    ),
)
"""Where a function is, its name, and what replaces it."""
PUBLISHED: Final = {(owner, name): vars(owner)[name] for owner, name, _ in QUICKER}


def _published(owner: Any, name: str) -> Any:
    """The function as moto and botocore have it."""
    return PUBLISHED[owner, name]


@cache
def _hasten() -> None:
    for owner, name, quicker in QUICKER:
        setattr(owner, name, quicker)

"""Clients of AWS: made when first used, with bounded patience.

botocore is imported with the first client: a command that asks nothing of AWS runs where it is not installed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from botocore.loaders import Loader
    from botocore.session import Session

ATTEMPTS: Final = 4
"""The first one included; after the last one the use case, SQS or sweep retries."""
READ_TIMEOUTS: Final[Mapping[str, float]] = {"s3": 300.0}
"""Seconds. CopyObject answers when it has copied, up to 5 GB."""


class Lazy:
    """A client that is created at first use: a function creates only those that it needs."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever boto3 has under that name
        return getattr(self._make(), name)


def client(service: str) -> Any:  # noqa: ANN401 - the caller names the type of boto3
    """The one client of a service."""
    return Lazy(lambda: _client(service))


def signer() -> Any:  # noqa: ANN401 - an S3Client
    """A client of S3 that only signs URLs: version 4, with the address of the bucket in its region."""

    @cache
    def made() -> Any:  # noqa: ANN401 - as above
        from botocore.config import Config  # noqa: PLC0415 - see above

        settings = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        return session().create_client("s3", config=settings)

    return Lazy(made)


def signed(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request to an API of API Gateway, signed by this function's credentials (SigV4).

    They have the name of the host as it is signed: `http.client` adds the port 443, which nobody signs.
    """
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - see above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - likewise

    own: Any = session()  # a function always has credentials
    host = urlsplit(url).netloc.removesuffix(":443")
    request = AWSRequest(method, url, {"Host": host, **headers}, body)
    region = own.get_config_variable("region")
    SigV4Auth(own.get_credentials().get_frozen_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers.items())


def session() -> Session:
    """A session with the settings of this moment. The descriptions of services, seven of ten parts of its time, are read once."""
    from botocore.session import get_session  # noqa: PLC0415 - see above

    made = get_session()
    made.register_component("data_loader", _loader(made.get_config_variable("data_path")))
    return made


@cache
def _loader(path: str | None) -> Loader:
    from botocore.loaders import create_loader  # noqa: PLC0415 - see above

    return create_loader(path)


@cache
def _client(service: str) -> Any:  # noqa: ANN401 - as above
    from botocore.config import Config  # noqa: PLC0415 - see above

    return session().create_client(
        service,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            connect_timeout=3.0,
            read_timeout=READ_TIMEOUTS.get(service, 10.0),
        ),
    )

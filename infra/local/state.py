"""Where the local stack is: one small file that `lakegate local up` writes last and `down` removes first."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import SetUpError
from lakegate.infra.local.clone import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "LAKEGATE_LOCAL_STATE"
DEFAULT: Final = ROOT / ".lakegate" / "local.json"
VERSION: Final = 1
REGION: Final = "eu-west-1"
ACCOUNT: Final = "000000000000"


@dataclass(frozen=True, slots=True)
class LocalState:
    """A stack that is up."""

    endpoint: str
    """Of every AWS service but EMR Serverless."""
    emr_endpoint: str
    stack: str
    region: str = REGION
    account: str = ACCOUNT
    access_key: str = ACCOUNT
    """The embedded AWS takes an access key of twelve digits for the account."""
    secret_key: str = ""
    """Random for each start: both programs serve only requests that are signed by it."""
    pids: Mapping[str, int] = field(default_factory=dict)
    """By name of the process: `aws`, `emr`."""
    api: str = ""
    """Address of the stack's HTTP API; empty before it is deployed."""
    version: int = VERSION

    @staticmethod
    def read(path: Path | None = None) -> LocalState:
        """The state in a file; SetUpError where no stack is up, or one of another version of this program is."""
        where = path or state_path()
        try:
            document = json.loads(where.read_text())
            state = LocalState(**document)
        except FileNotFoundError:
            raise SetUpError("the local stack is not up: run `lakegate local up`.") from None
        except (ValueError, TypeError, OSError):
            state = None
        if state is None or state.version != VERSION:
            raise SetUpError(f"{where} cannot be read: run `lakegate local down`, then `lakegate local up`.")
        return state

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".aside")
        aside.unlink(missing_ok=True)
        aside.touch(mode=0o600)  # the secret is nobody else's
        aside.write_text(json.dumps(asdict(self), indent=2) + "\n")
        aside.replace(path)

    def session(self) -> dict[str, str]:
        """The arguments of `boto3.Session`."""
        return {
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": self.region,
        }

    def endpoint_of(self, service: str) -> str:
        """Where a service, by boto3's name of it, listens."""
        return self.emr_endpoint if service == "emr-serverless" else self.endpoint

    def environment(self) -> dict[str, str]:
        """Environment variables with which the AWS command line, SAM and every SDK use this stack."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_EMR_SERVERLESS": self.emr_endpoint,
        }


def state_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The file of this clone's stack, or of the one that the environment names."""
    named = environment.get(VARIABLE)
    return Path(named).resolve() if named else DEFAULT

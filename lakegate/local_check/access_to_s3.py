"""Region, endpoint and credentials for libraries that read S3 by clients of their own."""

from __future__ import annotations

import os

import boto3
from botocore.exceptions import BotoCoreError

from lakegate.aws.open_stack import SENTENCES
from lakegate.base.errors import SetUpError


def access_to_s3() -> dict[str, str]:
    """Region, endpoint and credentials of boto3 for libraries with clients of their own, by names of environment variables.

    Raises SetUpError.
    """
    try:
        session = boto3.Session()
        found = session.get_credentials()
        credentials = found.get_frozen_credentials() if found is not None else None
    except BotoCoreError as error:
        kind = type(error).__name__
        raise SetUpError(f"S3 cannot be read: {SENTENCES.get(kind, f'boto3 has no credentials ({kind})')}") from None
    if credentials is None:
        raise SetUpError(f"S3 cannot be read: {SENTENCES['NoCredentialsError']}")
    settings = {
        "AWS_REGION": session.region_name or "us-east-1",
        "AWS_ENDPOINT_URL": os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"),
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_SESSION_TOKEN": credentials.token,
    }
    return {name: value for name, value in settings.items() if value}

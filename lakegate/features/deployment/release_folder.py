"""The deployed files: the template, the bundles of the functions and the release of the job, of a clone or a release folder.

`sam package` uploads what `CodeUri` names, and puts the address of S3 in its place. So does this module, with the digest of a
bundle as its key: what is there already has the same bytes. CloudFormation takes no aliases of YAML (user guide, "Template
formats") and no text above 51,200 bytes that is not in S3 (API reference, CreateChangeSet), so the template is uploaded as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import yaml

from lakegate.aws.clients import client
from lakegate.aws.open_stack import ask_service
from lakegate.base.errors import AccessDenied, InputError, NotFound, SetUpError
from lakegate.base.json_codec import sha256_of
from lakegate.cli.click_commands import Option

TEMPLATE: Final = "template.yaml"
PREFIX: Final = "lakegate/"
"""Of the keys in the bucket of artifacts."""
DIGEST: Final = "sha256"
"""Metadata of an uploaded object: the digest of its bytes."""
CHUNK: Final = 1 << 20
FUNCTION: Final = "AWS::Serverless::Function"
FromFolder: TypeAlias = Annotated[
    Path, Option("--from", help="A clone after `make package`, or the folder of a release.")
]
ArtifactsBucket: TypeAlias = Annotated[
    str | None,
    Option(
        "--artifacts",
        help="The bucket that code is uploaded to; else lakegate-artifacts-ACCOUNT-REGION.",
    ),
]


@dataclass(frozen=True)
class ReleaseFolder:
    """A clone after `make package`, or the folder of a release."""

    path: Path

    @cached_property
    def template(self) -> dict[str, Any]:
        """The template with the long forms of intrinsic functions. Raises InputError where the folder has none."""
        try:
            template = yaml.load((self.path / TEMPLATE).read_text(encoding="utf-8"), _loader())  # noqa: S506 - a safe loader, with the template's tags
        except OSError:
            raise InputError(
                f"{self.path} has no {TEMPLATE}: name a clone or the folder of a release by --from"
            ) from None
        except (yaml.YAMLError, UnicodeDecodeError):
            template = None
        if (
            not isinstance(template, dict)
            or not isinstance(template.get("Parameters"), dict)
            or "Resources" not in template
        ):
            raise InputError(f"{self.path / TEMPLATE} is no template of Lakegate")
        return template

    @cached_property
    def job(self) -> str:
        """The name of the job's release. Raises SetUpError where it was not packaged."""
        try:
            name = (self.path / "build/release").read_text(encoding="utf-8").strip()
        except OSError:
            name = ""
        if not name or not (self.path / "build/code" / name).is_dir():
            raise SetUpError(f"{self.path} has no packaged code: run `make package` there")
        return name

    @cached_property
    def bundles(self) -> dict[str, Path]:
        """The files that functions are made of, by `CodeUri`. Raises SetUpError where one was not packaged."""
        paths = {}
        for each in self.template["Resources"].values():
            place = each["Properties"].get("CodeUri") if each["Type"] == FUNCTION else None
            if isinstance(place, str) and not place.startswith("s3://"):
                paths[place] = self.path / place
        if missing := [place for place, path in paths.items() if not path.is_file()]:
            raise SetUpError(f"{self.path} has no {', '.join(missing)}: run `make package` there")
        return paths

    @cached_property
    def keys(self) -> dict[str, str]:
        """The key of each bundle in the bucket of artifacts, by `CodeUri`."""
        return {place: f"{PREFIX}{digest(path)}.zip" for place, path in self.bundles.items()}

    def deployable(self, bucket: str) -> bytes:
        """The template as CloudFormation reads it, with the bundles in a bucket."""
        resources = {name: dict(each) for name, each in self.template["Resources"].items()}
        for resource in resources.values():
            place = resource["Properties"].get("CodeUri") if resource["Type"] == FUNCTION else None
            if place in self.keys:
                resource["Properties"] = resource["Properties"] | {"CodeUri": f"s3://{bucket}/{self.keys[place]}"}
        return json.dumps({**self.template, "Resources": resources}, separators=(",", ":")).encode()


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _loader() -> Any:  # noqa: ANN401 - a class of PyYAML, which has no types for them
    """Reads the short forms of intrinsic functions, too: `!Sub text` as `{"Fn::Sub": text}`."""

    class Loader(yaml.CSafeLoader):
        """With the tags of CloudFormation."""

    Loader.add_multi_constructor("!", _intrinsic)
    return Loader


def _intrinsic(loader: yaml.CSafeLoader, name: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    match node:
        case yaml.ScalarNode():
            value = loader.construct_scalar(node)
        case yaml.SequenceNode():
            value = loader.construct_sequence(node, deep=True)
        case _:
            value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type] # the third kind of node
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)  # JSON has no other form
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": value}


# ---- The bucket of artifacts ----


def bucket_of_artifacts(account: str, region: str) -> str:
    """The bucket that bundles and templates are uploaded to, where nobody names another."""
    return f"lakegate-artifacts-{account}-{region}"


def ensure_bucket(bucket: str, account: str, region: str, *, partition: str) -> bool:
    """Create the bucket of artifacts unless it is there; returns whether it was created.

    A name can be guessed, so each call names the account that must own the bucket: nothing is read from or sent to another's.
    """
    try:
        ask_service("s3", "head_bucket", Bucket=bucket, ExpectedBucketOwner=account)
    except AccessDenied:
        raise SetUpError(
            f"the bucket {bucket} is not for you, or another account's: name yours by --artifacts"
        ) from None
    except NotFound:
        pass
    else:
        return False
    place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    ask_service("s3", "create_bucket", Bucket=bucket, **place)
    blocked = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)
    own: dict[str, Any] = {"Bucket": bucket, "ExpectedBucketOwner": account}
    ask_service("s3", "put_public_access_block", **own, PublicAccessBlockConfiguration=blocked)
    arn = f"arn:{partition}:s3:::{bucket}"
    only_tls = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    ask_service("s3", "put_bucket_policy", **own, Policy=json.dumps({"Version": "2012-10-17", "Statement": [only_tls]}))
    return True


def upload(bucket: str, key: str, body: bytes | Path, account: str) -> bool:
    """Upload bytes or a file, unless the object has the same bytes; returns whether it was uploaded."""
    sha256 = sha256_of(body) if isinstance(body, bytes) else digest(body)
    place: dict[str, Any] = {"Bucket": bucket, "Key": key, "ExpectedBucketOwner": account}
    with suppress(NotFound, AccessDenied):  # who may not list a bucket is refused where there is no object
        if ask_service("s3", "head_object", **place).get("Metadata", {}).get(DIGEST) == sha256:
            return False
    if isinstance(body, bytes):
        ask_service("s3", "put_object", **place, Body=body, Metadata={DIGEST: sha256})
    else:
        with body.open("rb") as file:
            ask_service("s3", "put_object", **place, Body=file, Metadata={DIGEST: sha256})
    return True


def upload_template(
    release: ReleaseFolder, bucket: str, account: str, report: Callable[[str], None], *, partition: str
) -> str:
    """Upload the template to the bucket of artifacts, which is made where it is missing; returns its address."""
    s3 = client("s3").meta
    if ensure_bucket(bucket, account, s3.region_name, partition=partition):
        report(f"made the bucket of artifacts {bucket}")
    template = release.deployable(bucket)
    key = f"{PREFIX}{sha256_of(template)}.template"
    upload(bucket, key, template, account)
    return f"{s3.endpoint_url}/{bucket}/{key}"


def upload_bundles(release: ReleaseFolder, bucket: str, account: str, report: Callable[[str], None]) -> int:
    """Upload the bundles of the functions; returns how many had other bytes than what is there."""
    places = {release.keys[place]: path for place, path in release.bundles.items()}
    return sum(_uploaded(bucket, account, places.items(), report))


def upload_job(release: ReleaseFolder, lake: str, account: str, report: Callable[[str], None]) -> int:
    """Upload the job's release to the lake; returns how many files had other bytes than what is there."""
    folder = release.path / "build/code" / release.job
    files = ((f"code/{release.job}/{path.relative_to(folder).as_posix()}", path) for path in sorted(folder.rglob("*")))
    return sum(_uploaded(lake, account, ((key, path) for key, path in files if path.is_file()), report))


def _uploaded(
    bucket: str, account: str, files: Iterable[tuple[str, Path]], report: Callable[[str], None]
) -> Iterator[bool]:
    for key, path in files:
        is_new = upload(bucket, key, path, account)
        size = path.stat().st_size / 1e6
        report(f"{'uploaded' if is_new else 'is there already:'} {path.name} ({size:.1f} MB)")
        yield is_new

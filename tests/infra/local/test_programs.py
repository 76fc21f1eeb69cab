from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.session import Session
from local_emr.__main__ import arguments

from infra.local import local_stack
from infra.local.aws.launcher import (
    AT_ONCE,
    CODE,
    KEPT_SECONDS,
    LinkedBundle,
    addresses,
    bounded,
    confined,
    copying,
    named,
    reading,
    trusting,
    unanswered,
)
from lakegate.aws.open_stack import LocalState
from lakegate.aws.vpc_endpoints import ENDPOINTS, VpcEndpoint
from lakegate.base import extension_points
from lakegate.base.errors import SetUpError
from lakegate.spark.local_spark import class_options, jars, java_home


def test_the_socket_is_bound_to_this_machine_alone() -> None:
    """Nothing beyond loopback reaches the embedded AWS, whatever the port."""
    with local_stack.listen(0) as listening:
        host, port = listening.getsockname()

        assert (host, port > 0) == ("127.0.0.1", True)


def test_a_port_in_use_is_one_sentence() -> None:
    """A port of another program is reported, with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(
            SetUpError, match=rf"^port {port} is in use: choose another with --port, or leave it out\.$"
        ):
            local_stack.listen(port)


@pytest.mark.parametrize("lacking", ["PYTHON_OF_AWS", "PYTHON_OF_SAM"])
def test_what_set_up_has_not_installed_is_named(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clone that is not set up, the error names the missing part, and the command that installs it."""
    for name in ("PYTHON_OF_AWS", "PYTHON_OF_SAM"):
        monkeypatch.setattr(local_stack, name, extension_points.ROOT / "Makefile")
    monkeypatch.setattr(local_stack, lacking, extension_points.ROOT / ".tools/none/bin/thing")

    with pytest.raises(SetUpError, match=r"^\.tools/none/bin/thing is missing: run `make stack-tools`\.$"):
        local_stack.examine()


def test_nothing_of_a_real_account_reaches_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials, profiles and endpoints of the caller stay outside; scratch files go where `down` removes them."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "LAKEGATE_STACK", "SPARK_HOME"):
        monkeypatch.setenv(name, "the caller's")
    found = local_stack.aws_environment(
        tmp_path / "scratch", tmp_path / "emr.out", "s3cret"
    ) | local_stack.emr_environment(tmp_path / "scratch", "s3cret")

    assert "the caller's" not in found.values()
    assert (str(tmp_path / "scratch"), "127.0.0.1,localhost") == (found["TMPDIR"], found["NO_PROXY"])
    assert (tmp_path / "scratch").is_dir()


@pytest.mark.parametrize(
    ("sources", "trusted"),
    [
        (("aws.emr-serverless",), True),
        (("aws.emr-serverless", "aws.emr-serverless"), True),
        (("aws.s3",), False),
        (("aws.emr-serverless", "aws.s3"), False),
        (("lakegate",), False),
        ((), False),
    ],
)
def test_only_events_of_emr_serverless_are_let_through(sources: tuple[str, ...], *, trusted: bool) -> None:
    """The embedded AWS goes on refusing every other `aws.*` source, as AWS does."""
    put = trusting(lambda data, allow_aws_source: (len(data["Entries"]), allow_aws_source))

    assert (len(sources), trusted) == put({"Entries": [{"Source": source} for source in sources]})


def test_what_aws_s_own_emitters_may_they_still_may() -> None:
    """Ministack's other services send `aws.*` events of their own."""
    put = trusting(lambda _data, allow_aws_source: allow_aws_source)

    assert put({"Entries": [{"Source": "aws.states"}]}, allow_aws_source=True)


def test_a_copy_has_the_condition_and_the_checksum_of_its_request() -> None:
    """What another worker copied is not copied over, as in S3; else the copy has the checksum that is asked for."""
    objects = SimpleNamespace(
        _ensure_bucket={"lake": {"objects": {"there": {}}}}.get,
        _check_put_preconditions=lambda headers, there: (
            412 if "if-none-match" in headers and there is not None else None
        ),
        _copy_object=lambda bucket, key, headers: (bucket, key, headers),
    )
    once, checksum = {"if-none-match": "*"}, {"x-amz-checksum-algorithm": "SHA256"}
    copied = copying(objects)

    assert copied("lake", "there", once) == 412
    assert copied("lake", "new", once) == ("lake", "new", once)
    assert copied("nowhere", "there", once) == ("nowhere", "there", once)
    assert copied("lake", "there", checksum) == (
        "lake",
        "there",
        {**checksum, "x-amz-sdk-checksum-algorithm": "SHA256"},
    )


def test_a_range_of_a_version_is_obeyed() -> None:
    """As of the current version: readers of the end of a file get the end, without the checksum of the whole."""
    asked: list[dict[str, str]] = []

    def whole(_bucket: str, key: str, headers: dict[str, str], query: Any = None) -> Any:
        asked.append(headers)
        if key == "gone":
            return 404, {}, b"NoSuchVersion"
        return (206, {}, b"by itself") if "range" in headers and not query else (200, {"ETag": "e"}, b"0123456789")

    objects = SimpleNamespace(
        _get_object=whole,
        _parse_range=lambda text, total: (7, total - 1) if text == "bytes=7-" else None,
        _range_error_xml=lambda bucket, key: f"{bucket}/{key}",
        _xml_body=str.encode,
    )
    read, version = reading(objects), {"versionId": ["v"]}
    part, checksum = {"range": "bytes=7-"}, {"x-amz-checksum-mode": "ENABLED"}

    assert read("lake", "k", {**part, **checksum}, version) == (
        *(206, {"ETag": "e", "Content-Length": "3", "Content-Range": "bytes 7-9/10"}, b"789"),
    )
    assert read("lake", "k", {"range": "bytes=10-"}, version) == (
        *(416, {"Content-Type": "application/xml", "Content-Range": "bytes */10"}, b"lake/k"),
    )
    assert read("lake", "gone", part, version) == (404, {}, b"NoSuchVersion")
    assert read("lake", "k", checksum, version) == (200, {"ETag": "e"}, b"0123456789")
    assert read("lake", "k", part) == (206, {}, b"by itself")
    assert asked[0] == part
    assert asked[3] == checksum


def test_the_commands_hold_no_shell_text(tmp_path: Path) -> None:
    """Each program is started by its words, whatever the folders are called."""
    folder = tmp_path / "a folder; rm -rf"

    assert str(folder) in local_stack.emr_command("http://127.0.0.1:1", folder, "resident")
    assert local_stack.aws_command(7)[-1] == "7"
    assert json.dumps(local_stack.aws_command(7))


def test_the_job_finds_the_jars_the_code_and_the_java_of_this_clone(tmp_path: Path) -> None:
    """The local EMR Serverless knows none of them: it is given all of them when it starts."""
    words = local_stack.emr_command("http://127.0.0.1:1", tmp_path, "resident")
    options = arguments().parse_args(words[3:])

    assert words[:3] == (sys.executable, "-m", "local_emr")
    assert options.code == [extension_points.ROOT]
    assert dict(options.conf) == {
        "spark.driver.extraClassPath": ":".join(str(path) for path in jars()),
        "spark.driver.defaultJavaOptions": class_options(java_home()),
    }
    assert local_stack.emr_environment(tmp_path, "s3cret")["JAVA_HOME"] == str(java_home())


def test_a_queue_runs_no_more_batches_than_the_machine_has_processors() -> None:
    """The template's concurrency is AWS's: here each batch is a process."""
    assert (bounded(lambda _esm: 20)("a mapping"), bounded(lambda _esm: 1)("a mapping")) == (AT_ONCE, 1)


def test_a_bundle_is_unpacked_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process of every function that has the same bundle sees the same files, of which there is one copy.

    The copy of the bundle that each process gets is deleted.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("first", "second"):
        with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
            archive.writestr(zipfile.ZipInfo("functions/intake_handler.py"), "pass\n")
        (tmp_path / name).mkdir()
        with LinkedBundle(tmp_path / "code.zip") as bundle:
            bundle.extractall(tmp_path / name)

    assert [(tmp_path / name / "functions/intake_handler.py").read_text() for name in ("first", "second")] == [
        "pass\n"
    ] * 2
    assert (tmp_path / "first").readlink() == (tmp_path / "second").readlink()
    assert not (tmp_path / "code.zip").exists()


def test_contents_that_nobody_used_for_a_day_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clone's folder keeps the contents of the bundles that its stacks use, and no older ones."""
    monkeypatch.setenv(CODE, str(tmp_path))
    for text in ("old", "used", "new"):
        with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
            archive.writestr("module.py", text)
        (tmp_path / text).mkdir()
        with LinkedBundle(tmp_path / "code.zip") as bundle:
            bundle.extractall(tmp_path / text)
        if text == "old":
            long_ago = time.time() - KEPT_SECONDS - 60
            os.utime((tmp_path / text).resolve(), (long_ago, long_ago))

    assert {text: (tmp_path / text / "module.py").is_file() for text in ("old", "used", "new")} == {
        "old": False,
        "used": True,
        "new": True,
    }


def test_services_are_known_by_their_names_and_by_those_of_their_endpoints() -> None:
    """The embedded AWS says which service it does not have, without reading the model of each."""
    known = named(Session)

    assert [known(name) for name in ("service-quotas", "servicequotas", "glacier", "nobody")] == [
        True,
        True,
        True,
        False,
    ]


def test_set_up_ends_with_a_next_step() -> None:
    """Whoever has set up reads what to do with it; a target that needs set-up does not say so."""
    last = {
        goal: subprocess.run(  # noqa: S603
            ["make", "-n", goal],  # noqa: S607
            cwd=extension_points.ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for goal in ("setup", "stack-tools")
    }

    assert last["setup"].splitlines()[-1].startswith('[ "setup" != setup ] || echo "Ready. Next: make sample-data')
    assert '[ "stack-tools" != setup ]' in last["stack-tools"]


def test_a_function_in_a_vpc_finds_the_services_that_have_an_endpoint_there() -> None:
    """Of another VPC none counts; an address that the template gave stays only for a service that may be called."""
    emr = {"AWS_ENDPOINT_URL_EMR_SERVERLESS": "http://127.0.0.1:2"}
    endpoints = [
        {"VpcId": "vpc-1", "ServiceName": "com.amazonaws.eu-west-1.events"},
        {"VpcId": "vpc-1", "ServiceName": "com.amazonaws.eu-west-1.secretsmanager"},
        {"VpcId": "vpc-1", "ServiceName": "com.amazonaws.eu-west-1.emr-serverless"},
        {"VpcId": "vpc-2", "ServiceName": "com.amazonaws.eu-west-1.kms"},
    ]
    spawned: list[dict[str, str]] = []

    def spawn(worker: SimpleNamespace) -> None:
        spawned.append(worker.config["Environment"]["Variables"])

    for found in (endpoints, endpoints[:1]):
        ec2 = SimpleNamespace(_vpc_endpoints=SimpleNamespace(all_values=lambda found=found: found))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GATEWAY_PORT", "1")
            for network in ("vpc-1", ""):
                config = {"VpcConfig": {"VpcId": network}, "Environment": {"Variables": {"A": "b", **emr}}}
                confined(spawn, ec2, "nowhere")(SimpleNamespace(config=config))
    all_of_them, outside, one_of_them, _ = spawned

    assert all_of_them == {
        "A": "b",
        "AWS_ENDPOINT_URL": "nowhere",
        "AWS_ENDPOINT_URL_EVENTBRIDGE": "http://127.0.0.1:1",
        "AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:1",
        **emr,
    }
    assert outside == {"A": "b", **emr}
    assert one_of_them["AWS_ENDPOINT_URL_EMR_SERVERLESS"] == "nowhere"


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.service)
def test_the_variable_of_each_endpoint_is_the_one_that_botocore_reads(endpoint: VpcEndpoint) -> None:
    """Otherwise the service would be closed in spite of its endpoint."""
    (variable,) = addresses({endpoint.service}, "http://127.0.0.1:1", "http://127.0.0.1:2", {}).keys() - {
        "AWS_ENDPOINT_URL"
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:2")
        patch.setenv(variable, "http://127.0.0.1:1")
        made = Session().create_client(
            endpoint.service, region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b"
        )

    assert made.meta.endpoint_url == "http://127.0.0.1:1"


def test_a_connection_to_nowhere_runs_into_its_time_limit() -> None:
    """As without a route: it is neither refused nor taken."""
    place = urlsplit(unanswered())

    with socket.socket() as calling:
        calling.settimeout(0.3)
        with pytest.raises(TimeoutError):
            calling.connect((place.hostname, place.port))


def test_the_endpoints_of_the_guide_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each VPC, those that the parameters ask for, beside what is there."""
    made: list[tuple[str, str, str]] = []
    ec2 = SimpleNamespace(
        describe_vpc_endpoints=lambda: {
            "VpcEndpoints": [{"VpcId": "vpc-1", "ServiceName": "com.amazonaws.eu-west-1.s3"}]
        },
        describe_subnets=lambda SubnetIds: {"Subnets": [{"VpcId": "vpc-1"} for _ in SubnetIds]},  # noqa: N803 - of AWS
        create_vpc_endpoint=lambda **made_so: made.append(tuple(made_so.values())),
    )
    monkeypatch.setattr(local_stack, "client", lambda *_: ec2)
    state = LocalState("http://127.0.0.1:1", "http://127.0.0.1:2", "lakegate", secret_key="s")

    local_stack.make_endpoints(state, {"SubnetIds": "subnet-1,subnet-2", "SigningKey": "own", "SmallFileBytes": "0"})

    services = [name.removeprefix("com.amazonaws.eu-west-1.") for _, name, _ in made]
    assert services == [each.service for each in ENDPOINTS if each.service not in {"s3", "lambda", "glue"}]
    assert ("vpc-1", "com.amazonaws.eu-west-1.dynamodb", "Gateway") in made

"""Two owners of contracts in one stack: what one may do never reaches what belongs to the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from infra.packaging.bundles import FUNCTIONS, PULL, own_files
from lakegate.features.pull.naming_queues import TAG
from lakegate.gate import table
from tests.infra.packaging.iam import Call, allowed
from tests.sam.built import ROOT, Stack
from tests.sam.other_values import OTHER_VALUES

HERE = "eu-west-1:123456789012"
OWNERS = {
    "sales": ("sales/", "sales.orders"),
    "neighbour": ("sales-eu/", "sales.orders-eu"),
    "inside": ("eu/sales/", "orders"),
    "capital": ("Sales/", "Sales.orders"),
}
"""Landing prefix and contract; the others are as near to the first as names can be."""
OWNER_TAG = "${aws:PrincipalTag/lakegate-owner}"
POLICIES_OF_AN_ACCOUNT = 1500
"""IAM quotas, "Customer managed policies in an AWS account"."""
POLICIES = ("ProducerPolicy", "ReaderPolicy", "OwnerPolicy")
OBJECT_CALLS = (
    "s3:GetObject",
    "s3:GetObjectVersion",
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:DeleteObjectVersion",
    "s3:AbortMultipartUpload",
    "s3:PutObjectAcl",
    "s3:PutObjectTagging",
    "s3:RestoreObject",
)
LIST_CALLS = ("s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads")
OF_WORKLOADS = ("/workload/1/notify", "/workload/1/transition")
ITEM_CALLS = ("GetItem", "Query", "Scan", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem")


def policies(owner: str) -> dict[str, Any]:
    """The policies of an owner, by name."""
    prefix, contract = OWNERS[owner]
    made = Stack.read(ROOT / "tenant.yaml", Prefix=prefix, Contract=contract)
    return {name: each["PolicyDocument"] for name, each in made.resources("AWS::IAM::ManagedPolicy").items()}


def test_other_accounts_become_a_role_of_this_one() -> None:
    """Only those that are named, each with the policies of its side, the key and the boundary; without them there is no role."""
    prefix, contract = OWNERS["sales"]
    given = {"Prefix": prefix, "Contract": contract}
    named = {"ProducerAccounts": "111111111111,222222222222", "ReaderAccounts": "333333333333"}
    key, boundary = (f"arn:aws:iam::123456789012:policy/{each}" for each in ("key", "boundary"))
    found = Stack.read(ROOT / "tenant.yaml", **given, **named, KeyPolicy=key, PermissionsBoundary=boundary)
    plain = Stack.read(ROOT / "tenant.yaml", **given, **named)
    roles = found.resources("AWS::IAM::Role")

    assert Stack.read(ROOT / "tenant.yaml", **given).resources("AWS::IAM::Role") == {}
    assert {name: each["AssumeRolePolicyDocument"]["Statement"] for name, each in roles.items()} == {
        name: [{"Effect": "Allow", "Principal": {"AWS": accounts}, "Action": "sts:AssumeRole"}]
        for name, accounts in (("ProducerRole", ["111111111111", "222222222222"]), ("ReaderRole", ["333333333333"]))
    }
    assert [len(each["ManagedPolicyArns"]) for each in plain.resources("AWS::IAM::Role").values()] == [1, 1]
    for name, each in roles.items():
        policy, of_key = each["ManagedPolicyArns"]
        assert (name.removesuffix("Role") + "Policy" in policy, of_key) == (True, key)
        assert each["PermissionsBoundary"] == boundary


def test_an_owner_has_a_queue_of_its_own_on_request(built: Path) -> None:
    """Its senders and buckets alone may send, encrypted; its tag has the contracts that a message may be about."""
    prefix, contract = OWNERS["sales"]
    bucket, rule = "arn:aws:s3:::sales-exports", "arn:aws:events:eu-west-1:111111111111:rule/landed"
    sender = "arn:aws:iam::111111111111:role/exporter"

    def made(of: str = contract, **given: str) -> Stack:
        return Stack.read(ROOT / "tenant.yaml", Prefix=prefix, Contract=of, **{"AWS::StackName": "sales"}, **given)

    both = made(NamingEvents=f"{bucket},{rule}", NamingSenders=f"222222222222,{sender}")
    (queue,), (policy,) = (both.resources(f"AWS::SQS::{kind}").values() for kind in ("Queue", "QueuePolicy"))
    (mapping,) = both.resources("AWS::Lambda::EventSourceMapping").values()
    main = Stack.read(built, PullObjects="arn:aws:s3:::p/*")
    deny, events, senders = policy["PolicyDocument"]["Statement"]
    patterns = {"sales.*": "sales./", "*": "/", contract: contract, OWNER_TAG + ".*": OWNER_TAG + "./"}

    assert made().resources("AWS::SQS::Queue") == made().resources("AWS::Lambda::EventSourceMapping") == {}
    assert queue["QueueName"] == "lakegate-named-sales"
    assert queue["RedrivePolicy"] == {"deadLetterTargetArn": "lakegate-DeadLetterQueueArn", "maxReceiveCount": 5}
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert events["Principal"] == {"Service": ["s3.amazonaws.com", "events.amazonaws.com"]}
    assert events["Condition"] == {"ArnEquals": {"aws:SourceArn": [bucket, rule]}}
    assert (senders["Principal"], senders["Action"]) == ({"AWS": ["222222222222", sender]}, "sqs:SendMessage")
    assert (
        len(
            made(NamingSenders=sender).resources("AWS::SQS::QueuePolicy")["NamedQueuePolicy"]["PolicyDocument"][
                "Statement"
            ]
        )
        == 2
    )
    assert mapping["FunctionName"] == main.function("NamingFunction")["FunctionName"] == "lakegate-naming"
    assert {
        of: made(of, NamingSenders=sender).resources("AWS::SQS::Queue")["NamedQueue"]["Tags"] for of in patterns
    } == {of: [{"Key": TAG, "Value": value}] for of, value in patterns.items()}
    assert queue["VisibilityTimeout"] == 6 * main.function("NamingFunction")["Timeout"]


def objects(owner: str) -> dict[str, str]:
    """An object of each kind that is an owner's."""
    prefix, contract = OWNERS[owner]
    below = f"{contract}/orders_v1/ingest_date=2026-11-22/workload=1/part-00000.csv"
    return {
        "landing": f"lakegate-LandingBucket/{prefix}day.csv",
        "accepted": f"lakegate-LakeBucket/accepted/{below}",
        "quarantine": f"lakegate-LakeBucket/quarantine/{below}",
    }


def calls(owner: str) -> Iterator[tuple[str, Call]]:
    """Every call on what is an owner's, with the place that it concerns."""
    for (place, name), action in product(objects(owner).items(), OBJECT_CALLS):
        yield place, Call(action, f"arn:aws:s3:::{name}")
    for (place, name), action in product(objects(owner).items(), LIST_CALLS):
        bucket, _, key = name.partition("/")
        yield place, Call(action, f"arn:aws:s3:::{bucket}", {"s3:prefix": key[: key.rindex("/") + 1]})
    for action in ITEM_CALLS:
        table = f"arn:aws:dynamodb:{HERE}:table/lakegate-LedgerTable"
        chain = {"dynamodb:LeadingKeys": [f"{OWNERS[owner][1]}/orders_v1"]}
        yield "ledger", Call(f"dynamodb:{action}", table, chain)
    paths = (
        "",
        "/pull",
        "/route",
        "/dataset",
        "/revalidation",
        "/workload",
        "/workload/1",
        *OF_WORKLOADS,
        "/v1/validation/start",
        "/v1/validation/1",
    )
    for method, path in product(("GET", "PUT", "POST", "DELETE"), paths):
        address = f"$default/{method}/api/v1/data-contract/{OWNERS[owner][1]}{path}"
        yield f"{method}{path}", Call("execute-api:Invoke", f"arn:aws:execute-api:{HERE}:lakegate-ApiId/{address}")


def granted(owner: str, *names: str, of: str) -> set[tuple[str, str]]:
    """Place and action of the calls on another's (or the own) things that an owner's policies allow."""
    asked = list(calls(of))
    held = policies(owner)
    answers = allowed([held[name] for name in names], [call for _, call in asked])
    return {(place, call.action) for (place, call), answer in zip(asked, answers, strict=True) if answer}


@pytest.mark.parametrize("other", [each for each in OWNERS if each != "sales"])
def test_nothing_of_another_owner_is_reached(other: str) -> None:
    """Both ways, with all policies at once: every call on every place of the other owner is denied."""
    assert granted("sales", *POLICIES, of=other) == set()
    assert granted(other, *POLICIES, of="sales") == set()


def test_one_stack_with_a_tag_serves_every_owner() -> None:
    """Who has the tag of an owner has that owner's policies, and who has none reaches nothing.

    An account has 1,500 managed policies, so that a stack for each owner ends at some hundreds of them. IAM puts the tag's value
    in place of the variable, and a value has no stars ("IAM policy elements: Variables and tags", "Rules for tagging").
    """
    shared = Stack.read(ROOT / "tenant.yaml", Prefix=f"{OWNER_TAG}/", Contract=f"{OWNER_TAG}.*")
    own = Stack.read(ROOT / "tenant.yaml", Prefix="sales/", Contract="sales.*")
    documents = [json.dumps(each.resources("AWS::IAM::ManagedPolicy")) for each in (shared, own)]

    assert documents[0].count(OWNER_TAG) > len(POLICIES)
    assert documents[0].replace(OWNER_TAG, "sales") == documents[1]


def test_the_page_of_limits_has_the_number_of_owners(built: Path) -> None:
    """Three policies for each, beside those of the stack with every option."""
    limits = (ROOT / "docs/limits.md").read_text()
    stack = Stack.read(built, **OTHER_VALUES).resources("AWS::IAM::ManagedPolicy")
    owners = (POLICIES_OF_AN_ACCOUNT - len(stack)) // len(policies("sales"))

    assert f"has three: {owners} owners" in limits


def test_each_policy_grants_its_own_part_of_what_is_the_owners() -> None:
    """A producer writes and lists, a reader reads accepted data and its versions, an owner quarantined data."""
    listing = {"s3:ListBucket", "s3:ListBucketVersions"}
    reading = {"s3:GetObject", "s3:GetObjectVersion"} | listing
    chain = {("ledger", "dynamodb:GetItem"), ("ledger", "dynamodb:Query")}
    writing = {"s3:PutObject", "s3:AbortMultipartUpload"} | listing

    assert granted("sales", "ProducerPolicy", of="sales") == {
        *(("landing", each) for each in writing),
        *chain,
        ("GET", "execute-api:Invoke"),
        ("GET/route", "execute-api:Invoke"),
        ("GET/dataset", "execute-api:Invoke"),
        ("GET/revalidation", "execute-api:Invoke"),
        ("GET/workload", "execute-api:Invoke"),
        ("GET/workload/1", "execute-api:Invoke"),
        *((f"GET{each}", "execute-api:Invoke") for each in OF_WORKLOADS),  # there is no such route
        ("POST/workload", "execute-api:Invoke"),
        ("POST/workload/1/notify", "execute-api:Invoke"),
        ("POST/pull", "execute-api:Invoke"),
    }
    assert granted("sales", "ReaderPolicy", of="sales") == {("accepted", each) for each in reading} | chain
    assert granted("sales", "OwnerPolicy", of="sales") == {("quarantine", each) for each in reading}


def test_a_producer_reads_results_and_no_rows() -> None:
    """Below runs/ are complete accepted and rejected rows: nobody lists there, and only result.json and report.html are read."""
    rows = "runs/0f/attempt=1/rows"
    names = (f"{rows}/accepted/part-0.csv", f"{rows}/rejected/part-0.csv", "runs/0f/attempt=1/request.json")
    reads = [Call("s3:GetObject", f"arn:aws:s3:::lakegate-LakeBucket/{name}") for name in names]
    lists = [Call("s3:ListBucket", "arn:aws:s3:::lakegate-LakeBucket", keys) for keys in ({"s3:prefix": "runs/"}, {})]
    staged = Call("s3:GetObject", "arn:aws:s3:::lakegate-LakeBucket/staging/0f/part-00000.csv")
    read = ("runs/0f/attempt=1/result.json", "runs/0f/report.html")
    results = [Call("s3:GetObject", f"arn:aws:s3:::lakegate-LakeBucket/{name}") for name in read]

    assert allowed(list(policies("sales").values()), [*reads, *lists, staged, *results]) == [False] * 6 + [True] * 2


DIGEST = "0f" * 32
OF_KIND = {
    **dict.fromkeys(
        ("line", "pause", "promise", "pull", "revalidation", "derivation", "slices"), "{contract}/orders_v1"
    ),
    **dict.fromkeys(
        ("workload", "announcement", "batch", "content", "producer", "request", "upload", "arrival"), DIGEST
    ),
    **dict.fromkeys(("notice", "validation", "callback", "object", "snapshot"), DIGEST),
    "message": "{contract}/orders_v1:late:frequency:2026",
    "cursor": f"quiet#{DIGEST}#secret",
}
"""What follows the kind in the key of an item of the table `workloads`, by kind."""


def test_no_kind_of_item_is_forgotten() -> None:
    """The table of keys lists every kind that the functions write."""
    _, _, listed = (table.__doc__ or "").partition("workloads  `id`")
    written = {
        kind
        for module in own_files((*FUNCTIONS.entries, *PULL.entries), ROOT)
        if module.suffix == ".py"
        for kind in re.findall(
            r'workloads_key\("(\w+)"|KIND: Final = "(\w+)"|DatasetRowStore\((?:\w+\.)?table, "(\w+)"',
            module.read_text(),
        )
    }

    assert set(re.findall(r"`([a-z]+)#", listed.partition("ledger ")[0])) == set(OF_KIND)
    assert {name for found in written for name in found if name} - {"contract", "version", "route", "event"} <= set(
        OF_KIND
    )


def test_of_workloads_table_an_owner_reads_rows_by_id_and_its_own_pulls() -> None:
    """Every kind of item, of this owner and of others: most keys are computed from names, which everybody may read, so they are
    denied; a workload is read by whoever knows its id. Nothing is written or listed.
    """
    table = f"arn:aws:dynamodb:{HERE}:table/lakegate-WorkloadsTable"
    keys = {
        f"{kind}#{rest.format(contract=contract)}" for kind, rest in OF_KIND.items() for _, contract in OWNERS.values()
    }
    asked = [
        Call(f"dynamodb:{action}", place, {"dynamodb:LeadingKeys": [key]})
        for key in sorted(keys)
        for action in ITEM_CALLS
        for place in (table, f"{table}/index/agenda")
    ]

    answers = allowed(list(policies("sales").values()), asked)
    may = [
        (call.keys["dynamodb:LeadingKeys"][0], call.action, call.resource)
        for call, yes in zip(asked, answers, strict=True)
        if yes
    ]

    assert may == [
        ("pull#sales.orders/orders_v1", "dynamodb:GetItem", table),
        (f"workload#{DIGEST}", "dynamodb:GetItem", table),
    ]


def test_no_items_are_listed_without_their_keys() -> None:
    """Nobody can list the records of all owners."""
    table = f"arn:aws:dynamodb:{HERE}:table/lakegate-WorkloadsTable"
    asked = [Call(f"dynamodb:{action}", table) for action in ITEM_CALLS]
    asked.append(Call("dynamodb:Query", f"{table}/index/agenda"))

    answers = allowed(list(policies("sales").values()), asked)

    assert [call.action for call, yes in zip(asked, answers, strict=True) if yes] == ["dynamodb:GetItem"]


@pytest.mark.parametrize(
    ("parameter", "value", "right"),
    [
        ("Prefix", "sales/", True),
        ("Prefix", "sales/eu/", True),
        ("Prefix", "*", True),
        ("Prefix", "sales", False),
        ("Prefix", "s*/", False),
        ("Prefix", "/", False),
        ("Prefix", "${aws:username}/", False),
        ("Contract", "sales.orders", True),
        ("Contract", "sales.*", True),
        ("Contract", "5f0c8a52-8f2d-4f7e-9e0c-0d6b4b1f9a11", True),
        ("Contract", "s*s", False),
        ("Contract", "a/b", False),
        ("Contract", "a?", False),
        ("Prefix", f"{OWNER_TAG}/", True),
        ("Prefix", OWNER_TAG, False),
        ("Prefix", f"{OWNER_TAG}*/", False),
        ("Contract", OWNER_TAG, True),
        ("Contract", f"{OWNER_TAG}.*", True),
        ("Contract", f"{OWNER_TAG}*", False),
        ("Contract", f"*{OWNER_TAG}", False),
    ],
)
def test_names_that_are_patterns_to_iam_are_no_names_of_an_owner(parameter: str, value: str, right: bool) -> None:  # noqa: FBT001 - a column
    """A star, a question mark or a variable inside a name would reach other owners."""
    pattern = Stack.read(ROOT / "tenant.yaml").template["Parameters"][parameter]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, value)) is right

"""Parameters and outputs of the released template. Written by `make wrappers` from template.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, kw_only=True)
class LakegateParameters:
    """Those that are None have the default of the template.

    Raises ValueError for a value that CloudFormation would refuse.
    """

    job_code: str
    """Folder of the job's release below code/ in the lake bucket; `make package` names it after its contents (default current)."""
    emr_application_id: str | None = None
    """An existing EMR Serverless application of emr-7.14.0; empty creates one."""
    extra_job_parameters: str | None = None
    """Settings of Spark (--conf NAME=VALUE) behind those that the packaged job needs; of a name that both have, this one counts."""
    job_minutes: int | None = None
    """The time limit of a job run (default 60)."""
    max_vcpu: int | None = None
    """The vCPU of all runs together; 16 is the quota of a new account (default 16)."""
    max_concurrent_runs: int | None = None
    """How many job runs execute at once; a run takes up to 8 vCPU, further ones wait in the application's queue (default 2)."""
    warm_workers: int | None = None
    """Pairs of driver and executor that a started application keeps initialised; each costs 0.29 USD an hour while it is started (docs/deploy.md) (default 0)."""
    small_file_bytes: int | None = None
    """Deliveries below this size are judged in a Lambda function first; 0 means all by Spark, 67108864 is recommended (default 0)."""
    batch_files: int | None = None
    """How many small deliveries of a dataset one job run judges, where their contract does not say; 1 means each has its own, 100 is recommended (default 1)."""
    batch_bytes: int | None = None
    """A batch of so many bytes is closed, and a delivery of so many judged alone, where the contract does not say (default 67108864)."""
    batch_seconds: int | None = None
    """How long the first delivery of a batch waits for others, where the contract does not say (default 300)."""
    prices: str | None = None
    """Date, currency, and prices of an EMR Serverless vCPU-hour and GB-hour, a Lambda GB-second and request; empty means those of this version."""
    unrouted: str | None = None
    """What happens to keys that no route covers; empty means quarantine, but ignore in a landing bucket that is given."""
    ignored_keys: str | None = None
    """Patterns of names of folders and objects that are not deliveries, separated by commas; empty means those of the release (docs/producer.md)."""
    sweep_schedule: str | None = None
    """How often sweep runs, which continues interrupted work and finds objects without an event (default rate(5 minutes))."""
    notify_schedule: str | None = None
    """How often notify runs, which sends the stored messages (default rate(1 minute))."""
    channel_prefix: str | None = None
    """How the names of secrets and topics begin that notify may use as channels (default lakegate-channel-)."""
    drift_schedule: str | None = None
    """How often contracts are compared with the accepted data; empty means never, rate(1 day) is recommended."""
    pull_hosts: Sequence[str] | None = None
    """Hosts that contracts may pull data from (HTTPS, SFTP; HTTP and FTP where a contract allows it), separated by commas; empty means none."""
    pull_objects: Sequence[str] | None = None
    """ARNs of objects of other buckets that contracts may pull, such as arn:aws:s3:::partner-exports/*, separated by commas; empty means none."""
    pull_secret_prefix: str | None = None
    """How the names of secrets begin that pulls may use as credentials (default lakegate-source-)."""
    naming_events: Sequence[str] | None = None
    """ARNs of buckets of S3, and of rules of EventBridge, whose events name objects that contracts pull, separated by commas."""
    naming_senders: Sequence[str] | None = None
    """Accounts, and ARNs of roles and users, that may send messages naming objects, for every contract, separated by commas."""
    validator_hosts: Sequence[str] | None = None
    """Hosts of services that may be registered to measure rules, and get the data of deliveries, separated by commas; empty means none."""
    validator_apis: Sequence[str] | None = None
    """ARNs of APIs that such services are called by with a signature of IAM (arn:aws:execute-api:REGION:ACCOUNT:API/*), separated by commas."""
    validator_secret_prefix: str | None = None
    """How the names of secrets begin that are the credentials for such services (default lakegate-validator-)."""
    reserve_concurrency: bool | None = None
    """Whether sweep reserves one concurrent execution; an account with the initial limit of 10 has none to reserve (default false)."""
    require_approval: bool | None = None
    """Whether a contract version becomes valid only when a second person approves it (lakegate approve) (default false)."""
    missing_fields: str | None = None
    """What happens to a file that lacks a field of its contract, where the contract does not say it (missingFields) (default warn)."""
    existing_landing_bucket: str | None = None
    """A bucket that producers write to already (versioned, with EventBridge notifications); empty creates one."""
    landing_prefix: str | None = None
    """Only objects below this prefix of the landing bucket are taken in and deleted, such as incoming/; empty means all."""
    adopt_existing: bool | None = None
    """Whether what is in ExistingLandingBucket before the stack is made is taken in, too, and deleted there (default false)."""
    existing_lake_bucket: str | None = None
    """A versioned bucket that exists already for the lake; empty creates one."""
    existing_registry_table: str | None = None
    """The table of contracts and routes of a stack that was deleted, or restored ones; empty creates one. All three are given, or none."""
    existing_workloads_table: str | None = None
    """The table of workloads of a stack that was deleted, or restored ones; empty creates one. All three are given, or none."""
    existing_ledger_table: str | None = None
    """The table of the ledger of a stack that was deleted, or restored ones; empty creates one. All three are given, or none."""
    kms_key: str | None = None
    """The KMS key of buckets, tables, queues, logs of the functions and the topic - an ARN, or `own` for a new one; empty encrypts by keys of AWS."""
    upload_keys: Sequence[str] | None = None
    """ARNs of further KMS keys that producers encrypt their uploads with, separated by commas."""
    bucket_keys: Sequence[str] | None = None
    """ARNs of the KMS keys that buckets which are given encrypt by, where they are not KmsKey, separated by commas."""
    signing_key: str | None = None
    """The KMS key (ECC_NIST_EDWARDS25519) that signs each block of the ledger - an ARN, or `own` for a new one; empty signs nothing."""
    replaced_signing_key: str | None = None
    """ARN of the key that signed before SigningKey, and signs in each chain that SigningKey replaces it."""
    anchor_days: int | None = None
    """Days for which an anchor of the ledger can be neither changed nor deleted; a function keeps one a day. 0 creates no bucket for anchors (default 0)."""
    audit_quarantine: bool | None = None
    """Whether CloudTrail records each access to quarantined objects (default false)."""
    subnet_ids: Sequence[str] | None = None
    """Subnets (separated by commas) of the functions and the job, in a VPC with the endpoints of docs/deploy.md; empty uses no VPC."""
    security_group_ids: Sequence[str] | None = None
    """Security groups (separated by commas) of the functions and the job; needed with SubnetIds."""
    permissions_boundary: str | None = None
    """ARN of the permissions boundary of every role of this stack."""
    log_days: int | None = None
    """Days that logs are kept (default 90)."""
    workload_days: int | None = None
    """Days after intake for which the row of a finished delivery stays in the table of workloads - it is archived in the lake before. 0 keeps all rows (default 400)."""
    alarm_topic: str | None = None
    """ARN of the SNS topic that alarms are sent to; empty creates one."""
    with_api: bool | None = None
    """Whether the HTTP API has an address; an API of this kind is reached from the internet, by callers with a signature or a token (default true)."""
    api_rate: int | None = None
    """Requests a second that the HTTP API takes of all callers together, and how many at once (default 50)."""
    jwt_issuer: str | None = None
    """The issuer of the tokens that callers of the HTTP API have; empty means that they sign by IAM."""
    jwt_audience: str | None = None
    """The audience, or the client, that the tokens are for; needed with JwtIssuer."""
    service_endpoint: str | None = None
    """The endpoint of all AWS services, for emulators; empty means AWS's own."""
    emr_endpoint: str | None = None
    """The endpoint of EMR Serverless, for emulators; empty means AWS's own."""

    def __post_init__(self) -> None:
        for name, text in self.texts().items():
            _check(name, text)

    def texts(self) -> dict[str, str]:
        """The parameters that are set, as CloudFormation gets them."""
        given = {NAMES[each.name]: getattr(self, each.name) for each in fields(self)}
        return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: bool | int | str | Sequence[str]) -> str:  # noqa: FBT001 - of a parameter
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | str) else ",".join(value)


def _check(name: str, text: str) -> None:
    least, most = BOUNDS.get(name, (None, None))
    if name in CHOICES and text not in CHOICES[name]:
        raise ValueError(f"{name}: {text!r} is none of {CHOICES[name]}")
    if name in PATTERNS and not re.fullmatch(PATTERNS[name], text):
        raise ValueError(f"{name}: {text!r} does not have the form {PATTERNS[name]}")
    if (least is not None and int(text) < least) or (most is not None and int(text) > most):
        raise ValueError(f"{name}: {text} is not from {least} to {most}")


NAMES: Final[dict[str, str]] = {
    "job_code": "JobCode",
    "emr_application_id": "EmrApplicationId",
    "extra_job_parameters": "ExtraJobParameters",
    "job_minutes": "JobMinutes",
    "max_vcpu": "MaxVcpu",
    "max_concurrent_runs": "MaxConcurrentRuns",
    "warm_workers": "WarmWorkers",
    "small_file_bytes": "SmallFileBytes",
    "batch_files": "BatchFiles",
    "batch_bytes": "BatchBytes",
    "batch_seconds": "BatchSeconds",
    "prices": "Prices",
    "unrouted": "Unrouted",
    "ignored_keys": "IgnoredKeys",
    "sweep_schedule": "SweepSchedule",
    "notify_schedule": "NotifySchedule",
    "channel_prefix": "ChannelPrefix",
    "drift_schedule": "DriftSchedule",
    "pull_hosts": "PullHosts",
    "pull_objects": "PullObjects",
    "pull_secret_prefix": "PullSecretPrefix",
    "naming_events": "NamingEvents",
    "naming_senders": "NamingSenders",
    "validator_hosts": "ValidatorHosts",
    "validator_apis": "ValidatorApis",
    "validator_secret_prefix": "ValidatorSecretPrefix",
    "reserve_concurrency": "ReserveConcurrency",
    "require_approval": "RequireApproval",
    "missing_fields": "MissingFields",
    "existing_landing_bucket": "ExistingLandingBucket",
    "landing_prefix": "LandingPrefix",
    "adopt_existing": "AdoptExisting",
    "existing_lake_bucket": "ExistingLakeBucket",
    "existing_registry_table": "ExistingRegistryTable",
    "existing_workloads_table": "ExistingWorkloadsTable",
    "existing_ledger_table": "ExistingLedgerTable",
    "kms_key": "KmsKey",
    "upload_keys": "UploadKeys",
    "bucket_keys": "BucketKeys",
    "signing_key": "SigningKey",
    "replaced_signing_key": "ReplacedSigningKey",
    "anchor_days": "AnchorDays",
    "audit_quarantine": "AuditQuarantine",
    "subnet_ids": "SubnetIds",
    "security_group_ids": "SecurityGroupIds",
    "permissions_boundary": "PermissionsBoundary",
    "log_days": "LogDays",
    "workload_days": "WorkloadDays",
    "alarm_topic": "AlarmTopic",
    "with_api": "WithApi",
    "api_rate": "ApiRate",
    "jwt_issuer": "JwtIssuer",
    "jwt_audience": "JwtAudience",
    "service_endpoint": "ServiceEndpoint",
    "emr_endpoint": "EmrEndpoint",
}
"""The parameters, by field."""
PATTERNS: Final[dict[str, str]] = {
    "EmrApplicationId": "[0-9a-z]{0,64}",
    "JobCode": "[0-9A-Za-z._-]+",
    "ExtraJobParameters": "(--conf (?!spark[.](archives|jars|submit[.]pyFiles)=)[A-Za-z][\\w.-]*=[^\\s'\"]+( (?!$)|$))*",
    "Prices": "([0-9]{4}-[0-9]{2}-[0-9]{2} [A-Z]{3}( [0-9]{1,9}([.][0-9]{1,12})?){4})?",
    "ChannelPrefix": "[A-Za-z0-9_-]{1,64}",
    "DriftSchedule": "((rate|cron)\\(.+\\))?",
    "PullHosts": "([A-Za-z0-9.-]{1,253}(,(?!$)|$))*",
    "PullObjects": "(arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^\\s,]+(,(?!$)|$))*",
    "PullSecretPrefix": "[A-Za-z0-9_-]{1,64}",
    "NamingEvents": "(arn:aws[a-z-]*:(s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]|events:[a-z0-9-]+:[0-9]{12}:rule/[A-Za-z0-9._/-]+)(,(?!$)|$))*",
    "NamingSenders": "(([0-9]{12}|arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]*[A-Za-z0-9+=.@_-])(,(?!$)|$))*",
    "ValidatorHosts": "([A-Za-z0-9.-]{1,253}(,(?!$)|$))*",
    "ValidatorApis": "(arn:aws[a-z-]*:execute-api:[a-z0-9-]+:[0-9]{12}:[^\\s,]+(,(?!$)|$))*",
    "ValidatorSecretPrefix": "[A-Za-z0-9_-]{1,64}",
    "ExistingLandingBucket": "([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?",
    "LandingPrefix": "([^/\\s*?$][^\\s*?$]{0,199}/)?",
    "ExistingLakeBucket": "([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?",
    "ExistingRegistryTable": "([A-Za-z0-9_.-]{3,255})?",
    "ExistingWorkloadsTable": "([A-Za-z0-9_.-]{3,255})?",
    "ExistingLedgerTable": "([A-Za-z0-9_.-]{3,255})?",
    "KmsKey": "(own|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?",
    "UploadKeys": "(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+(,(?!$)|$))*",
    "BucketKeys": "(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+(,(?!$)|$))*",
    "SigningKey": "(own|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?",
    "ReplacedSigningKey": "(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?",
    "SubnetIds": "(subnet-[0-9a-z]+(,(?!$)|$))*",
    "SecurityGroupIds": "(sg-[0-9a-z]+(,(?!$)|$))*",
    "PermissionsBoundary": "(arn:aws[a-z-]*:iam::[0-9a-z]+:policy/.+)?",
    "AlarmTopic": "(arn:aws[a-z-]*:sns:.+)?",
    "JwtIssuer": "(https://[^\\s?#]+)?",
    "JwtAudience": "[^\\s,]*",
    "ServiceEndpoint": "(https?://\\S+)?",
    "EmrEndpoint": "(https?://\\S+)?",
}
"""Their AllowedPattern."""
BOUNDS: Final[dict[str, tuple[int | None, int | None]]] = {
    "JobMinutes": (5, 10080),
    "MaxVcpu": (4, None),
    "MaxConcurrentRuns": (1, 1000),
    "WarmWorkers": (0, 100),
    "SmallFileBytes": (0, 1073741824),
    "BatchFiles": (1, 250),
    "BatchBytes": (1, 1073741824),
    "BatchSeconds": (1, 3600),
    "AnchorDays": (0, 3650),
    "WorkloadDays": (0, 36500),
    "ApiRate": (1, 10000),
}
"""Their MinValue and MaxValue."""
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "Unrouted": ("", "quarantine", "ignore"),
    "MissingFields": ("allow", "warn", "forbid"),
    "LogDays": (
        "1",
        "3",
        "5",
        "7",
        "14",
        "30",
        "60",
        "90",
        "120",
        "150",
        "180",
        "365",
        "400",
        "545",
        "731",
        "1096",
        "1827",
        "2192",
        "2557",
        "2922",
        "3288",
        "3653",
    ),
}
"""Their AllowedValues."""
OUTPUTS: Final[tuple[str, ...]] = (
    "LandingPrefix",
    "LandingBucket",
    "LakeBucket",
    "RegistryTable",
    "WorkloadsTable",
    "LedgerTable",
    "ApplicationId",
    "EventBusName",
    "IntakeFunction",
    "CompletionFunction",
    "SweepFunction",
    "JudgeFunction",
    "ApiFunction",
    "ApiId",
    "ApiUrl",
    "NotifyFunction",
    "IgnoredKeys",
    "RequireApproval",
    "MissingFields",
    "NamedQueueUrl",
    "DeadLetterQueueArn",
    "DeadLetterQueueUrl",
    "StewardPolicy",
    "ApproverPolicy",
    "LifecyclePolicy",
    "OperatorPolicy",
    "ResponderPolicy",
    "DeployerPolicy",
    "DeployerServicesPolicy",
    "EnginePolicy",
    "ErasurePolicy",
    "DoctorPolicy",
    "KeyPolicy",
    "KeyArn",
    "SigningKeyArn",
    "AnchorBucket",
    "AlarmTopic",
)
"""Outputs of the stack; some by parameters only."""

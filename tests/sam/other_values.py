"""Another value of every parameter of the template, for tests of updates."""

from __future__ import annotations

OTHER_VALUES = {
    "JobMinutes": "90",
    "SmallFileBytes": "1048576",
    "BatchFiles": "100",
    "BatchBytes": "1048576",
    "BatchSeconds": "60",
    "Prices": "2026-11-22 EUR 0.05 0.006 0.0002 0.00002",
    "MaxVcpu": "32",
    "MaxConcurrentRuns": "4",
    "WarmWorkers": "1",
    "Unrouted": "ignore",
    "SweepSchedule": "rate(10 minutes)",
    "NotifySchedule": "rate(5 minutes)",
    "DriftSchedule": "rate(1 day)",
    "PullHosts": "data.example.com,files.example.org",
    "PullObjects": "arn:aws:s3:::partner-exports/*,arn:aws:s3:::other-exports/daily/*",
    "PullSecretPrefix": "theirs-",
    "ChannelPrefix": "ours-",
    "ReserveConcurrency": "yes",
    "RequireApproval": "yes",
    "LogDays": "30",
    "JobCode": "1.0",
    "EntryPoint": "s3://another/validate.py",
    "JobParameters": "--conf spark.a=b",
    "IgnoredKeys": "_SUCCESS",
    "KmsKey": "own",
    "UploadKeys": "arn:aws:kms:eu-west-1:000000000000:key/1,arn:aws:kms:eu-west-1:000000000000:key/2",
    "PermissionsBoundary": "arn:aws:iam::000000000000:policy/boundary",
    "AlarmTopic": "arn:aws:sns:eu-west-1:000000000000:ours",
    "SigningKey": "own",
    "ReplacedSigningKey": "arn:aws:kms:eu-west-1:000000000000:key/3",
    "AnchorDays": "1",
    "SubnetIds": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
    "SecurityGroupIds": "sg-0123456789abcdef0",
    "ApiRate": "10",
    "JwtIssuer": "https://issuer.example",
    "JwtAudience": "lakegate",
}
"""Of every parameter but those in `NOT_UPDATED`."""
NOT_UPDATED = {
    "AuditQuarantine": "the embedded AWS makes no trails by CloudFormation",
    "EmrApplicationId": "the local stack has the application that the template makes",
    "EmrEndpoint": "what makes this AWS reachable",
    "ServiceEndpoint": "what makes this AWS reachable",
    "ExistingLandingBucket": "chosen with the first deployment",
    "ExistingLakeBucket": "chosen with the first deployment",
}
"""Parameters that the embedded AWS cannot give another value, each with the reason."""

"""All probes of `lakegate doctor`, with the rights that each needs: one table."""

from __future__ import annotations

from typing import Final

from lakegate.cli.probes import compute, deliveries, entrance, events, job, people, storage, stored
from lakegate.cli.probes.examination import Probe

TABLES: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan")
OBJECTS: Final = ("s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:ListBucketVersions")
FUNCTION: Final = "lambda:GetFunctionConfiguration"

ENTRANCE: Final = ("cloudformation:DescribeStacks", "cloudformation:ListStackResources")
"""What every examination begins with."""
PROBES: Final = (
    Probe("stack", ("cloudformation:DescribeStacks",), entrance.stack_state),
    Probe("clock", ("cloudformation:DescribeStacks",), entrance.clock),
    Probe("rules", ("events:DescribeRule", "events:ListTargetsByRule"), events.rules),
    Probe("bucket-events", ("s3:GetBucketNotification",), events.bucket_events),
    Probe("schedules", ("scheduler:GetSchedule",), events.schedules),
    Probe("mappings", ("lambda:ListEventSourceMappings",), events.mappings),
    Probe("queues", ("sqs:GetQueueAttributes",), events.queues),
    Probe("queue-ages", ("cloudwatch:GetMetricData", "sqs:GetQueueAttributes"), events.ages),
    Probe("bus", ("events:DescribeEventBus",), events.bus),
    Probe("messages", ("dynamodb:Query",), events.unsent),
    Probe("alarms", ("cloudwatch:DescribeAlarms", "sns:ListSubscriptionsByTopic"), events.alarms),
    Probe("watch", ("dynamodb:Scan",), stored.watch),
    Probe("buckets", ("s3:GetBucketVersioning",), storage.buckets),
    Probe("tables", ("dynamodb:DescribeTable",), storage.tables),
    Probe("recovery", ("dynamodb:DescribeContinuousBackups",), storage.recovery),
    Probe("keys", ("s3:GetEncryptionConfiguration", "dynamodb:DescribeTable", "kms:DescribeKey"), storage.keys),
    Probe("functions", (FUNCTION, "lambda:GetFunctionConcurrency"), compute.configuration),
    Probe("throttles", ("cloudwatch:GetMetricData",), compute.throttles),
    Probe("logs", ("logs:FilterLogEvents",), compute.logs),
    Probe("rights", ("iam:SimulatePrincipalPolicy", FUNCTION), compute.rights),
    Probe("application", ("emr-serverless:GetApplication", FUNCTION), job.application),
    Probe("quota", ("servicequotas:ListServiceQuotas", FUNCTION), job.quota),
    Probe("code", ("s3:GetObject", "s3:ListBucket", FUNCTION), job.code),
    Probe(
        "network",
        ("emr-serverless:GetApplication", "ec2:DescribeSubnets", "ec2:DescribeRouteTables", "ec2:DescribeVpcEndpoints"),
        job.network,
    ),
    Probe("contracts", ("dynamodb:Scan",), deliveries.contracts),
    Probe("pauses", ("dynamodb:GetItem", "dynamodb:Query"), people.pauses),
    Probe("answers", ("dynamodb:GetItem", "dynamodb:Query"), people.answers),
    Probe("plans", ("dynamodb:Scan", "s3:GetObject", "s3:ListBucket"), deliveries.plans),
    Probe("items", (*TABLES, *OBJECTS), stored.items),
    Probe("stuck", (*TABLES, *OBJECTS, "emr-serverless:GetJobRun", FUNCTION), deliveries.stuck),
    Probe("workload", (*TABLES, *OBJECTS, "emr-serverless:GetJobRun", FUNCTION), deliveries.one),
)

"""Rules, schedules, queues, messages and alarms: what starts the functions, and what they send."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from lakegate.aws.open_stack import every_page
from lakegate.base.errors import NotFound, PortError
from lakegate.features.doctor.examination import CAUSES, MINUTES, CauseFinding, ExaminedStack, code_of
from lakegate.gate.table import instant, shards

RULES: Final = {"LandedRule": "LandedQueue", "MovedRule": "MovedQueue"}
SCHEDULES: Final = {"SweepEvery": "SweepFunction", "NotifyEvery": "NotifyFunction"}
OPTIONAL: Final = {"AnchorEvery": "AnchorFunction", "PullEvery": "PullFunction", "DriftEvery": "DriftFunction"}
"""Schedules that a stack has by a parameter."""
READERS: Final = {"IntakeFunction": "LandedQueue", "CompletionFunction": "MovedQueue"}
NAMED: Final = "NamedQueue"
"""The queue that a stack has where objects are named by messages."""
OLD_MINUTES: Final = 15
"""Longer than a message waits while its function works: a burst is read within minutes."""
UNSENT_MINUTES: Final = 10
GONE: Final = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
ACTIVE: Final = frozenset({"Enabled", "Enabling", "Updating", "Creating"})


def rules(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Both event rules are on, and send to their queues."""
    for part, queue in RULES.items():
        name = examined.name(part)
        try:
            rule = examined.ask("events", "describe_rule", Name=name)
            targets = examined.ask("events", "list_targets_by_rule", Rule=name).get("Targets", ())
        except NotFound:
            yield CAUSES["rule-missing"].found(name=name, part=part, stack=examined.stack.name)
            continue
        if rule["State"] == "DISABLED":
            yield CAUSES["rule-disabled"].found(name=name, part=part)
        wanted = queue_name(examined, queue)
        if not any(target["Arn"].endswith(f":{wanted}") for target in targets):
            yield CAUSES["target-missing"].found(name=name, part=part, queue=wanted, stack=examined.stack.name)


def bucket_events(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The landing bucket sends its events to EventBridge."""
    bucket = examined.stack.output("LandingBucket")
    if "EventBridgeConfiguration" not in examined.ask("s3", "get_bucket_notification_configuration", Bucket=bucket):
        yield CAUSES["bucket-events-off"].found(bucket=bucket, stack=examined.stack.name)


def schedules(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Sweep and notify are scheduled; so are anchors, pulls and comparisons, where the stack has them."""
    for part, function in (SCHEDULES | {text: OPTIONAL[text] for text in examined.there(*OPTIONAL)}).items():
        name, of = examined.name(part), examined.name(function)
        try:
            state = examined.ask("scheduler", "get_schedule", Name=name)["State"]
        except NotFound:
            yield CAUSES["schedule-missing"].found(name=name, part=part, function=of, stack=examined.stack.name)
            continue
        if state == "DISABLED":
            yield CAUSES["schedule-disabled"].found(name=name, part=part, function=of)


def mappings(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Every queue is read by its function."""
    for part in readers(examined):
        function = examined.name(part)
        found = examined.ask("lambda", "list_event_source_mappings", FunctionName=function)["EventSourceMappings"]
        if not found:
            yield CAUSES["mapping-missing"].found(function=function, stack=examined.stack.name)
        for mapping in found:
            if mapping["State"] not in ACTIVE:
                yield CAUSES["mapping-disabled"].found(function=function, state=mapping["State"], uuid=mapping["UUID"])


def queues(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Queues are there, nothing waits for long, and nothing is in the dead-letter queue."""
    for part in (*readers(examined).values(), "DeadLetterQueue"):
        try:
            count = waiting(examined, part)
        except PortError as error:
            if not isinstance(error, NotFound) and code_of(error) not in GONE:
                raise
            yield CAUSES["queue-missing"].found(name=queue_name(examined, part), stack=examined.stack.name)
            continue
        if count and part == "DeadLetterQueue":
            yield CAUSES["dead-letters"].found(count=count)


def ages(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """No queue has old messages: the metric of SQS, because its attributes have no age."""
    for part in readers(examined).values():
        name = queue_name(examined, part)
        values = metric(examined, "AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", QueueName=name)
        count = waiting(examined, part)
        if values and count and values[0] > OLD_MINUTES * 60:
            yield CAUSES["queue-old"].found(name=name, minutes=round(values[0] / 60), count=count)


def bus(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The bus is there, and takes messages."""
    name = examined.stack.output("EventBusName")
    try:
        examined.ask("events", "describe_event_bus", Name=name)
    except NotFound:
        yield CAUSES["bus-missing"].found(name=name, stack=examined.stack.name)


def unsent(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """No message waits for longer than several runs of notify."""
    until = instant(examined.ask.now() - timedelta(minutes=UNSENT_MINUTES))
    found: list[str] = []
    for shard in shards("message"):
        response = examined.ask(
            "dynamodb",
            "query",
            TableName=examined.stack.output("WorkloadsTable"),
            IndexName="agenda",
            KeyConditionExpression="#shard = :shard AND #at <= :until",
            ExpressionAttributeNames={"#at": "at", "#shard": "shard"},
            ExpressionAttributeValues={":shard": {"S": shard}, ":until": {"S": until}},
            Limit=100,
        )
        found += [item["at"]["S"] for item in response["Items"]]
    if found:
        yield CAUSES["messages-unsent"].found(count=len(found), since=f"{min(found)[:19]}Z")


def alarms(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Alarms that are in state ALARM, and whether anybody is notified of them."""
    names = {name: logical for logical, name in examined.resources.items()}
    of_stack = {"StateValue": "ALARM", "AlarmNamePrefix": examined.stack.name}
    for alarm in every_page(examined.ask, "cloudwatch", "describe_alarms", "MetricAlarms", **of_stack):
        if alarm["AlarmName"] in names:
            logical = names[alarm["AlarmName"]]
            yield CAUSES["alarm"].found(name=alarm["AlarmName"], anchor=logical)
    if examined.embedded:  # its alarms have no state to tell of
        return
    topic = examined.stack.output("AlarmTopic")
    if not any(every_page(examined.ask, "sns", "list_subscriptions_by_topic", "Subscriptions", TopicArn=topic)):
        yield CAUSES["alarms-unheard"].found(topic=topic)


def readers(examined: ExaminedStack) -> dict[str, str]:
    """The queue of each function that reads one."""
    return READERS | ({"NamingFunction": NAMED} if examined.there(NAMED) else {})


def queue_name(examined: ExaminedStack, part: str) -> str:
    """The name of a queue; CloudFormation knows it by its URL."""
    return examined.name(part).rpartition("/")[2]


def waiting(examined: ExaminedStack, part: str) -> int:
    """The approximate number of messages that wait in a queue."""
    name = "ApproximateNumberOfMessages"
    response = examined.ask("sqs", "get_queue_attributes", QueueUrl=examined.name(part), AttributeNames=[name])
    return int(response.get("Attributes", {}).get(name, 0))


def metric(examined: ExaminedStack, namespace: str, name: str, statistic: str, **dimensions: str) -> list[float]:
    """The values of a metric of the last minutes, one for each five minutes, the newest first."""
    now = examined.ask.now().replace(second=0, microsecond=0)
    of: dict[str, Any] = {
        "Namespace": namespace,
        "MetricName": name,
        "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
    }
    response = examined.ask(
        "cloudwatch",
        "get_metric_data",
        MetricDataQueries=[{"Id": "m", "MetricStat": {"Metric": of, "Period": 300, "Stat": statistic}}],
        StartTime=now - timedelta(minutes=MINUTES),
        EndTime=now + timedelta(minutes=1),
        ScanBy="TimestampDescending",
    )
    return list(response["MetricDataResults"][0]["Values"]) if response["MetricDataResults"] else []

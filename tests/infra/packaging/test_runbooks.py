"""docs/runbooks.md has a section for each alarm of the template, and the dashboard shows each."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lakegate.base.extension_points import ROOT
from tests.sam.built import Stack
from tests.unit.docs.page_commands import commands, sections

MESSAGE = "Message workload failed"


def test_every_alarm_has_a_runbook_and_every_runbook_an_alarm(stack: Stack) -> None:
    """Anyone who is notified finds the section under the alarm's name."""
    of_every_stack = stack.template["Resources"].items()
    alarms = {name for name, each in of_every_stack if each["Type"] == "AWS::CloudWatch::Alarm"}

    assert alarms | {MESSAGE} == set(sections("runbooks.md"))


def test_every_runbook_has_symptom_commands_and_remedy() -> None:
    """What happened, what to run, and what removes it."""
    lacking = [
        name
        for name, text in sections("runbooks.md").items()
        if not ("**Symptom.**" in text and "**Remedy.**" in text and commands(text)[0] == "lakegate doctor")
    ]

    assert lacking == []


def test_runbooks_name_resources_of_the_template(stack: Stack) -> None:
    """Each `$Name` of a command is the logical name of a resource."""
    names = {
        name
        for text in sections("runbooks.md").values()
        for line in commands(text)
        for name in re.findall(r"\$(\w+)", line)
    }

    assert names
    assert names <= set(stack.template["Resources"])


def test_the_dashboard_shows_every_alarm_and_metrics_that_exist(stack: Stack, built: Path) -> None:
    """Its body is JSON, also with an option; metrics of Lakegate are those that a function counts, with its dimensions."""
    body = json.loads(stack.resources("AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"])
    shown = [each["properties"] for each in body["widgets"]]
    metrics = [metric for each in shown for metric in each.get("metrics", ()) if isinstance(metric[0], str)]
    own = [metric for metric in metrics if metric[0] == "Lakegate"]
    files = (ROOT / "lakegate/aws/lambda_runtime.py", *(ROOT / "functions").glob("*.py"))
    source = "".join(path.read_text() for path in files)
    counted = {re.sub(r"^Deliveries\w+", "Deliveries", metric[1]) for metric in own}

    every = Stack.read(built, PullObjects="arn:aws:s3:::p/*", NamingSenders="123456789012")
    for each in (stack, every):
        board = json.loads(each.resources("AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"])["widgets"]
        listed = [alarm for widget in board for alarm in widget["properties"].get("alarms", ())]
        alarms = each.resources("AWS::CloudWatch::Alarm")

        assert sorted(alarm.rpartition(":")[2] for alarm in listed) == sorted(alarms)
    assert len(every.resources("AWS::CloudWatch::Alarm")) == len(stack.resources("AWS::CloudWatch::Alarm")) + 2
    assert {(metric[2], metric[4]) for metric in own} == {("stack", "service")}
    assert [name for name in counted if f'"{name}' not in source] == []
    assert {metric[0] for metric in metrics} == {"Lakegate", "AWS/Lambda", "AWS/SQS"}


def test_the_mail_of_a_failure_is_two_sentences_with_the_commands(stack: Stack) -> None:
    """What went wrong where, and what to run: no JSON for a person to read."""
    (target,) = stack.resources("AWS::Events::Rule")["FailedRule"]["Targets"]
    paths, text = target["InputTransformer"]["InputPathsMap"], target["InputTransformer"]["InputTemplate"]
    body = {"line": "shop/a_v1", "attempt": 3, "cause": "run-failed"}
    event: dict[str, object] = {"detail": {"workload": "8b4d", "body": body}}

    def value(name: str) -> str:
        found: object = event
        for part in paths[name].removeprefix("$.").split("."):
            assert isinstance(found, dict)
            found = found[part]
        return str(found)

    sentences = (
        "The delivery 8b4d to shop/a_v1 has no verdict after attempt 3 (run-failed), and its data is untouched in landing.",
        "See why: lakegate doctor 8b4d --stack lakegate. When the cause is removed: lakegate replay 8b4d --stack lakegate",
    )
    assert re.sub(r"<(\w+)>", lambda found: value(found[1]), text).splitlines() == [f'"{each}"' for each in sentences]

"""The one table of what features register: extension point, name, module and attribute.

Nothing is imported here; `lakegate.extension_points` resolves a row when its point asks for it, and leaves out rows whose folder
is absent. The points are described in docs/architecture.md.
"""

from __future__ import annotations

from typing import Final

TABLE: Final[tuple[tuple[str, str, str], ...]] = (
    ("channels", "sns", "lakegate.features.notifications.sns:Sns"),
    ("channels", "webhook", "lakegate.features.notifications.webhook:Webhook"),
    ("channels", "slack", "lakegate.features.notifications.slack:Slack"),
    ("channels", "teams", "lakegate.features.notifications.teams:Teams"),
    ("channels", "pagerduty", "lakegate.features.notifications.pagerduty:PagerDuty"),
    ("channels", "openlineage", "lakegate.features.openlineage.openlineage_events:OpenLineage"),
    ("http routes", "announcements", "lakegate.features.announcements.announcements_api:ROUTES"),
    ("http routes", "pull", "lakegate.features.pull.pulls_api:ROUTES"),
    ("http routes", "workflows", "lakegate.features.workflows.callbacks_api:ROUTES"),
    ("http routes", "validator_api", "lakegate.features.validator_api.validations_api:ROUTES"),
    ("invitations", "workflows", "lakegate.features.workflows.callbacks:invited"),
    ("lineage", "openlineage", "lakegate.features.openlineage.openlineage_events:judged_delivery"),
    ("lints", "revalidation", "lakegate.features.revalidation.rule_limit:LINTS"),
    ("lints", "pull", "lakegate.features.pull.pull_settings:LINTS"),
    ("anchors", "keep", "lakegate.features.anchors.verify_anchors:keep_anchor"),
    ("anchors", "kept", "lakegate.features.anchors.verify_anchors:kept_anchors"),
    ("anchors", "verify", "lakegate.features.anchors.verify_anchors:verify_anchors"),
    ("comparisons", "integrity", "lakegate.features.odf.verify_slices:integrity"),
    ("comparisons", "replay", "lakegate.features.odf.verify_slices:replay"),
    ("lints", "odf", "lakegate.features.odf.odf_settings:LINTS"),
    ("manifest marks", "revalidation", "lakegate.features.revalidation.revalidation:mark_of"),
    ("message listeners", "notifications", "lakegate.features.notifications.notices:LISTENER"),
    ("plan data", "pull", "lakegate.features.pull.pull_settings:plan_data"),
    ("plan data", "odf", "lakegate.features.odf.odf_settings:plan_data"),
    ("publishers", "parquet", "lakegate.features.odf.odf_publisher:PUBLISHER"),
    ("row writers", "parquet", "lakegate.features.odf.slices.merge_strategies:WRITER"),
    ("attempt companions", "external_validators", "lakegate.features.external_validators.external_rules:COMPANION"),
    ("claims", "announcements", "lakegate.features.announcements.announced_delivery:link"),
    ("decisions", "approve", "lakegate.features.workflows.approvals:approve"),
    ("decisions", "decline", "lakegate.features.workflows.approvals:decline"),
    ("decisions", "waive", "lakegate.features.waivers.waiver:waive"),
    ("published plans", "external_validators", "lakegate.features.external_validators.external_rules:IN_PLANS"),
    ("published plans", "workflows", "lakegate.features.workflows.workflow_document:IN_PLANS"),
    ("rule technologies", "great_expectations", "lakegate.features.great_expectations.expectations:ENGINE"),
    ("rule technologies", "soda", "lakegate.features.soda.soda_checks:ENGINE"),
    ("rows", "announcements", "lakegate.features.announcements.announced_delivery:DynamoAnnouncements"),
    ("rows", "callbacks", "lakegate.features.workflows.callbacks:DynamoCallbacks"),
    ("rows", "notices", "lakegate.features.notifications.notices:DynamoNotices"),
    ("rows", "pulls", "lakegate.features.pull.pull_task:dynamo_pulls"),
    ("rows", "requests", "lakegate.features.http_api.idempotency_keys:DynamoRequestKeys"),
    ("rows", "revalidations", "lakegate.features.revalidation.revalidation:dynamo_revalidations"),
    ("rows", "validations", "lakegate.features.validator_api.validation_run:DynamoValidations"),
    ("scheduled tasks", "revalidation", "lakegate.features.revalidation.revalidation:TASK"),
    ("slice comparisons", "odf", "lakegate.features.odf.format.logical_hash:is_as_stated"),
    ("wiring", "channels", "lakegate.features.notifications.channels:channels_of_stack"),
    ("wiring", "uploads", "lakegate.features.announcements.announced_delivery:presigned_uploads"),
    ("wiring", "validators", "lakegate.features.external_validators.validator_client:https_validators"),
)

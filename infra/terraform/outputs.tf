# Written by `make wrappers` from template.yaml.

output "landing_prefix" {
  description = "Where in the landing bucket deliveries are"
  value       = lookup(aws_cloudformation_stack.this.outputs, "LandingPrefix", null)
}

output "landing_bucket" {
  description = "The bucket that producers write to"
  value       = lookup(aws_cloudformation_stack.this.outputs, "LandingBucket", null)
}

output "lake_bucket" {
  description = "The bucket of accepted and quarantined data, plans and runs"
  value       = lookup(aws_cloudformation_stack.this.outputs, "LakeBucket", null)
}

output "registry_table" {
  description = "Contracts and routes"
  value       = lookup(aws_cloudformation_stack.this.outputs, "RegistryTable", null)
}

output "workloads_table" {
  description = "Workloads and their messages"
  value       = lookup(aws_cloudformation_stack.this.outputs, "WorkloadsTable", null)
}

output "ledger_table" {
  description = "The ledger"
  value       = lookup(aws_cloudformation_stack.this.outputs, "LedgerTable", null)
}

output "application_id" {
  description = "The EMR Serverless application"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ApplicationId", null)
}

output "event_bus_name" {
  description = "The event bus of Lakegate's events"
  value       = lookup(aws_cloudformation_stack.this.outputs, "EventBusName", null)
}

output "intake_function" {
  description = "Receives events of landed objects"
  value       = lookup(aws_cloudformation_stack.this.outputs, "IntakeFunction", null)
}

output "completion_function" {
  description = "Receives events of job runs"
  value       = lookup(aws_cloudformation_stack.this.outputs, "CompletionFunction", null)
}

output "sweep_function" {
  description = "Continues due workloads and finds unannounced objects"
  value       = lookup(aws_cloudformation_stack.this.outputs, "SweepFunction", null)
}

output "judge_function" {
  description = "Judges small deliveries"
  value       = lookup(aws_cloudformation_stack.this.outputs, "JudgeFunction", null)
}

output "api_function" {
  description = "Answers the HTTP API"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ApiFunction", null)
}

output "api_id" {
  description = "The HTTP API, as policies and the local stack name it"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ApiId", null)
}

output "api_url" {
  description = "The address of the HTTP API"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ApiUrl", null)
}

output "notify_function" {
  description = "Sends messages"
  value       = lookup(aws_cloudformation_stack.this.outputs, "NotifyFunction", null)
}

output "ignored_keys" {
  description = "Patterns of names that are not deliveries"
  value       = lookup(aws_cloudformation_stack.this.outputs, "IgnoredKeys", null)
}

output "require_approval" {
  description = "Whether a contract version needs a second person"
  value       = lookup(aws_cloudformation_stack.this.outputs, "RequireApproval", null)
}

output "missing_fields" {
  description = "What happens to files that lack a field, where a contract does not say it"
  value       = lookup(aws_cloudformation_stack.this.outputs, "MissingFields", null)
}

output "named_queue_url" {
  description = "For senders: messages that name objects"
  value       = lookup(aws_cloudformation_stack.this.outputs, "NamedQueueUrl", null)
}

output "dead_letter_queue_arn" {
  description = "The queue of messages that could not be handled, for the queues of tenant.yaml"
  value       = lookup(aws_cloudformation_stack.this.outputs, "DeadLetterQueueArn", null)
}

output "dead_letter_queue_url" {
  description = "Messages that could not be handled"
  value       = lookup(aws_cloudformation_stack.this.outputs, "DeadLetterQueueUrl", null)
}

output "steward_policy" {
  description = "For people: publish contracts, and route keys to them"
  value       = lookup(aws_cloudformation_stack.this.outputs, "StewardPolicy", null)
}

output "approver_policy" {
  description = "For people: approve contracts that others proposed"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ApproverPolicy", null)
}

output "lifecycle_policy" {
  description = "For people: lifecycle and subscribers of dataset lines"
  value       = lookup(aws_cloudformation_stack.this.outputs, "LifecyclePolicy", null)
}

output "operator_policy" {
  description = "For people: see every delivery and what runs"
  value       = lookup(aws_cloudformation_stack.this.outputs, "OperatorPolicy", null)
}

output "responder_policy" {
  description = "For people, beside OperatorPolicy: do what doctor and the runbooks say; with EnginePolicy also replay"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ResponderPolicy", null)
}

output "deployer_policy" {
  description = "For people: deploy later versions"
  value       = lookup(aws_cloudformation_stack.this.outputs, "DeployerPolicy", null)
}

output "deployer_services_policy" {
  description = "For people, beside DeployerPolicy: likewise"
  value       = lookup(aws_cloudformation_stack.this.outputs, "DeployerServicesPolicy", null)
}

output "engine_policy" {
  description = "The rights to continue a workload"
  value       = lookup(aws_cloudformation_stack.this.outputs, "EnginePolicy", null)
}

output "erasure_policy" {
  description = "For people, beside OperatorPolicy: erase a data subject's rows"
  value       = lookup(aws_cloudformation_stack.this.outputs, "ErasurePolicy", null)
}

output "doctor_policy" {
  description = "For people, beside OperatorPolicy: find why deliveries are not processed"
  value       = lookup(aws_cloudformation_stack.this.outputs, "DoctorPolicy", null)
}

output "key_policy" {
  description = "For people, beside their other policies: read and write what the keys encrypt"
  value       = lookup(aws_cloudformation_stack.this.outputs, "KeyPolicy", null)
}

output "key_arn" {
  description = "The key of buckets and tables"
  value       = lookup(aws_cloudformation_stack.this.outputs, "KeyArn", null)
}

output "signing_key_arn" {
  description = "The key that signs the ledger"
  value       = lookup(aws_cloudformation_stack.this.outputs, "SigningKeyArn", null)
}

output "anchor_bucket" {
  description = "Where anchors of the ledger are kept, locked"
  value       = lookup(aws_cloudformation_stack.this.outputs, "AnchorBucket", null)
}

output "alarm_topic" {
  description = "The topic of alarms"
  value       = lookup(aws_cloudformation_stack.this.outputs, "AlarmTopic", null)
}

# Written by `make wrappers` from template.yaml. A variable that is not set has the default of the template.

variable "emr_application_id" {
  type        = string
  description = "An existing EMR Serverless application of emr-7.14.0; empty creates one"
  default     = null

  validation {
    condition     = var.emr_application_id == null ? true : can(regex("^(?:[0-9a-z]{0,64})$", var.emr_application_id))
    error_message = "emr_application_id: see AllowedPattern, MinValue, MaxValue or AllowedValues of EmrApplicationId in template.yaml."
  }
}

variable "job_code" {
  type        = string
  description = "Folder of the job's release below code/ in the lake bucket; `make package` names it after its contents (default current)"

  validation {
    condition     = var.job_code == null ? true : can(regex("^(?:[0-9A-Za-z._-]+)$", var.job_code))
    error_message = "job_code: see AllowedPattern, MinValue, MaxValue or AllowedValues of JobCode in template.yaml."
  }
}

variable "extra_job_parameters" {
  type        = string
  description = "Settings of Spark (--conf NAME=VALUE) behind those that the packaged job needs; of a name that both have, this one counts"
  default     = null
}

variable "job_minutes" {
  type        = number
  description = "The time limit of a job run (default 60)"
  default     = null

  validation {
    condition     = var.job_minutes == null ? true : var.job_minutes >= 5
    error_message = "job_minutes: see AllowedPattern, MinValue, MaxValue or AllowedValues of JobMinutes in template.yaml."
  }

  validation {
    condition     = var.job_minutes == null ? true : var.job_minutes <= 10080
    error_message = "job_minutes: see AllowedPattern, MinValue, MaxValue or AllowedValues of JobMinutes in template.yaml."
  }
}

variable "max_vcpu" {
  type        = number
  description = "The vCPU of all runs together; 16 is the quota of a new account (default 16)"
  default     = null

  validation {
    condition     = var.max_vcpu == null ? true : var.max_vcpu >= 4
    error_message = "max_vcpu: see AllowedPattern, MinValue, MaxValue or AllowedValues of MaxVcpu in template.yaml."
  }
}

variable "max_concurrent_runs" {
  type        = number
  description = "How many job runs execute at once; a run takes up to 8 vCPU, further ones wait in the application's queue (default 2)"
  default     = null

  validation {
    condition     = var.max_concurrent_runs == null ? true : var.max_concurrent_runs >= 1
    error_message = "max_concurrent_runs: see AllowedPattern, MinValue, MaxValue or AllowedValues of MaxConcurrentRuns in template.yaml."
  }

  validation {
    condition     = var.max_concurrent_runs == null ? true : var.max_concurrent_runs <= 1000
    error_message = "max_concurrent_runs: see AllowedPattern, MinValue, MaxValue or AllowedValues of MaxConcurrentRuns in template.yaml."
  }
}

variable "warm_workers" {
  type        = number
  description = "Pairs of driver and executor that a started application keeps initialised; each costs 0.29 USD an hour while it is started (docs/deploy.md) (default 0)"
  default     = null

  validation {
    condition     = var.warm_workers == null ? true : var.warm_workers >= 0
    error_message = "warm_workers: see AllowedPattern, MinValue, MaxValue or AllowedValues of WarmWorkers in template.yaml."
  }

  validation {
    condition     = var.warm_workers == null ? true : var.warm_workers <= 100
    error_message = "warm_workers: see AllowedPattern, MinValue, MaxValue or AllowedValues of WarmWorkers in template.yaml."
  }
}

variable "small_file_bytes" {
  type        = number
  description = "Deliveries below this size are judged in a Lambda function first; 0 means all by Spark, 67108864 is recommended (default 0)"
  default     = null

  validation {
    condition     = var.small_file_bytes == null ? true : var.small_file_bytes >= 0
    error_message = "small_file_bytes: see AllowedPattern, MinValue, MaxValue or AllowedValues of SmallFileBytes in template.yaml."
  }

  validation {
    condition     = var.small_file_bytes == null ? true : var.small_file_bytes <= 1073741824
    error_message = "small_file_bytes: see AllowedPattern, MinValue, MaxValue or AllowedValues of SmallFileBytes in template.yaml."
  }
}

variable "batch_files" {
  type        = number
  description = "How many small deliveries of a dataset one job run judges, where their contract does not say; 1 means each has its own, 100 is recommended (default 1)"
  default     = null

  validation {
    condition     = var.batch_files == null ? true : var.batch_files >= 1
    error_message = "batch_files: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchFiles in template.yaml."
  }

  validation {
    condition     = var.batch_files == null ? true : var.batch_files <= 250
    error_message = "batch_files: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchFiles in template.yaml."
  }
}

variable "batch_bytes" {
  type        = number
  description = "A batch of so many bytes is closed, and a delivery of so many judged alone, where the contract does not say (default 67108864)"
  default     = null

  validation {
    condition     = var.batch_bytes == null ? true : var.batch_bytes >= 1
    error_message = "batch_bytes: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchBytes in template.yaml."
  }

  validation {
    condition     = var.batch_bytes == null ? true : var.batch_bytes <= 1073741824
    error_message = "batch_bytes: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchBytes in template.yaml."
  }
}

variable "batch_seconds" {
  type        = number
  description = "How long the first delivery of a batch waits for others, where the contract does not say (default 300)"
  default     = null

  validation {
    condition     = var.batch_seconds == null ? true : var.batch_seconds >= 1
    error_message = "batch_seconds: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchSeconds in template.yaml."
  }

  validation {
    condition     = var.batch_seconds == null ? true : var.batch_seconds <= 3600
    error_message = "batch_seconds: see AllowedPattern, MinValue, MaxValue or AllowedValues of BatchSeconds in template.yaml."
  }
}

variable "prices" {
  type        = string
  description = "Date, currency, and prices of an EMR Serverless vCPU-hour and GB-hour, a Lambda GB-second and request; empty means those of this version"
  default     = null

  validation {
    condition     = var.prices == null ? true : can(regex("^(?:([0-9]{4}-[0-9]{2}-[0-9]{2} [A-Z]{3}( [0-9]{1,9}([.][0-9]{1,12})?){4})?)$", var.prices))
    error_message = "prices: see AllowedPattern, MinValue, MaxValue or AllowedValues of Prices in template.yaml."
  }
}

variable "unrouted" {
  type        = string
  description = "What happens to keys that no route covers; empty means quarantine, but ignore in a landing bucket that is given"
  default     = null

  validation {
    condition     = var.unrouted == null ? true : contains(["", "quarantine", "ignore"], var.unrouted)
    error_message = "unrouted: see AllowedPattern, MinValue, MaxValue or AllowedValues of Unrouted in template.yaml."
  }
}

variable "ignored_keys" {
  type        = string
  description = "Patterns of names of folders and objects that are not deliveries, separated by commas; empty means those of the release (docs/producer.md)"
  default     = null
}

variable "sweep_schedule" {
  type        = string
  description = "How often sweep runs, which continues interrupted work and finds objects without an event (default rate(5 minutes))"
  default     = null
}

variable "notify_schedule" {
  type        = string
  description = "How often notify runs, which sends the stored messages (default rate(1 minute))"
  default     = null
}

variable "channel_prefix" {
  type        = string
  description = "How the names of secrets and topics begin that notify may use as channels (default lakegate-channel-)"
  default     = null

  validation {
    condition     = var.channel_prefix == null ? true : can(regex("^(?:[A-Za-z0-9_-]{1,64})$", var.channel_prefix))
    error_message = "channel_prefix: see AllowedPattern, MinValue, MaxValue or AllowedValues of ChannelPrefix in template.yaml."
  }
}

variable "drift_schedule" {
  type        = string
  description = "How often contracts are compared with the accepted data; empty means never, rate(1 day) is recommended"
  default     = null

  validation {
    condition     = var.drift_schedule == null ? true : can(regex("^(?:((rate|cron)\\(.+\\))?)$", var.drift_schedule))
    error_message = "drift_schedule: see AllowedPattern, MinValue, MaxValue or AllowedValues of DriftSchedule in template.yaml."
  }
}

variable "pull_hosts" {
  type        = list(string)
  description = "Hosts that contracts may pull data from (HTTPS, SFTP; HTTP and FTP where a contract allows it), separated by commas; empty means none"
  default     = null

  validation {
    condition     = var.pull_hosts == null ? true : alltrue([for each in var.pull_hosts : can(regex("^(?:[A-Za-z0-9.-]{1,253})$", each))])
    error_message = "pull_hosts: see AllowedPattern, MinValue, MaxValue or AllowedValues of PullHosts in template.yaml."
  }
}

variable "pull_objects" {
  type        = list(string)
  description = "ARNs of objects of other buckets that contracts may pull, such as arn:aws:s3:::partner-exports/*, separated by commas; empty means none"
  default     = null

  validation {
    condition     = var.pull_objects == null ? true : alltrue([for each in var.pull_objects : can(regex("^(?:arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^\\s,]+)$", each))])
    error_message = "pull_objects: see AllowedPattern, MinValue, MaxValue or AllowedValues of PullObjects in template.yaml."
  }
}

variable "pull_secret_prefix" {
  type        = string
  description = "How the names of secrets begin that pulls may use as credentials (default lakegate-source-)"
  default     = null

  validation {
    condition     = var.pull_secret_prefix == null ? true : can(regex("^(?:[A-Za-z0-9_-]{1,64})$", var.pull_secret_prefix))
    error_message = "pull_secret_prefix: see AllowedPattern, MinValue, MaxValue or AllowedValues of PullSecretPrefix in template.yaml."
  }
}

variable "naming_events" {
  type        = list(string)
  description = "ARNs of buckets of S3, and of rules of EventBridge, whose events name objects that contracts pull, separated by commas"
  default     = null

  validation {
    condition     = var.naming_events == null ? true : alltrue([for each in var.naming_events : can(regex("^(?:arn:aws[a-z-]*:(s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]|events:[a-z0-9-]+:[0-9]{12}:rule/[A-Za-z0-9._/-]+))$", each))])
    error_message = "naming_events: see AllowedPattern, MinValue, MaxValue or AllowedValues of NamingEvents in template.yaml."
  }
}

variable "naming_senders" {
  type        = list(string)
  description = "Accounts, and ARNs of roles and users, that may send messages naming objects, for every contract, separated by commas"
  default     = null

  validation {
    condition     = var.naming_senders == null ? true : alltrue([for each in var.naming_senders : can(regex("^(?:([0-9]{12}|arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]*[A-Za-z0-9+=.@_-]))$", each))])
    error_message = "naming_senders: see AllowedPattern, MinValue, MaxValue or AllowedValues of NamingSenders in template.yaml."
  }
}

variable "validator_hosts" {
  type        = list(string)
  description = "Hosts of services that may be registered to measure rules, and get the data of deliveries, separated by commas; empty means none"
  default     = null

  validation {
    condition     = var.validator_hosts == null ? true : alltrue([for each in var.validator_hosts : can(regex("^(?:[A-Za-z0-9.-]{1,253})$", each))])
    error_message = "validator_hosts: see AllowedPattern, MinValue, MaxValue or AllowedValues of ValidatorHosts in template.yaml."
  }
}

variable "validator_apis" {
  type        = list(string)
  description = "ARNs of APIs that such services are called by with a signature of IAM (arn:aws:execute-api:REGION:ACCOUNT:API/*), separated by commas"
  default     = null

  validation {
    condition     = var.validator_apis == null ? true : alltrue([for each in var.validator_apis : can(regex("^(?:arn:aws[a-z-]*:execute-api:[a-z0-9-]+:[0-9]{12}:[^\\s,]+)$", each))])
    error_message = "validator_apis: see AllowedPattern, MinValue, MaxValue or AllowedValues of ValidatorApis in template.yaml."
  }
}

variable "validator_secret_prefix" {
  type        = string
  description = "How the names of secrets begin that are the credentials for such services (default lakegate-validator-)"
  default     = null

  validation {
    condition     = var.validator_secret_prefix == null ? true : can(regex("^(?:[A-Za-z0-9_-]{1,64})$", var.validator_secret_prefix))
    error_message = "validator_secret_prefix: see AllowedPattern, MinValue, MaxValue or AllowedValues of ValidatorSecretPrefix in template.yaml."
  }
}

variable "reserve_concurrency" {
  type        = bool
  description = "Whether sweep reserves one concurrent execution; an account with the initial limit of 10 has none to reserve (default false)"
  default     = null
}

variable "require_approval" {
  type        = bool
  description = "Whether a contract version becomes valid only when a second person approves it (lakegate approve) (default false)"
  default     = null
}

variable "missing_fields" {
  type        = string
  description = "What happens to a file that lacks a field of its contract, where the contract does not say it (missingFields) (default warn)"
  default     = null

  validation {
    condition     = var.missing_fields == null ? true : contains(["allow", "warn", "forbid"], var.missing_fields)
    error_message = "missing_fields: see AllowedPattern, MinValue, MaxValue or AllowedValues of MissingFields in template.yaml."
  }
}

variable "existing_landing_bucket" {
  type        = string
  description = "A bucket that producers write to already (versioned, with EventBridge notifications); empty creates one"
  default     = null

  validation {
    condition     = var.existing_landing_bucket == null ? true : can(regex("^(?:([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?)$", var.existing_landing_bucket))
    error_message = "existing_landing_bucket: see AllowedPattern, MinValue, MaxValue or AllowedValues of ExistingLandingBucket in template.yaml."
  }
}

variable "landing_prefix" {
  type        = string
  description = "Only objects below this prefix of the landing bucket are taken in and deleted, such as incoming/; empty means all"
  default     = null

  validation {
    condition     = var.landing_prefix == null ? true : can(regex("^(?:([^/\\s*?$][^\\s*?$]{0,199}/)?)$", var.landing_prefix))
    error_message = "landing_prefix: see AllowedPattern, MinValue, MaxValue or AllowedValues of LandingPrefix in template.yaml."
  }
}

variable "adopt_existing" {
  type        = bool
  description = "Whether what is in ExistingLandingBucket before the stack is made is taken in, too, and deleted there (default false)"
  default     = null
}

variable "existing_lake_bucket" {
  type        = string
  description = "A versioned bucket that exists already for the lake; empty creates one"
  default     = null

  validation {
    condition     = var.existing_lake_bucket == null ? true : can(regex("^(?:([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?)$", var.existing_lake_bucket))
    error_message = "existing_lake_bucket: see AllowedPattern, MinValue, MaxValue or AllowedValues of ExistingLakeBucket in template.yaml."
  }
}

variable "existing_registry_table" {
  type        = string
  description = "The table of contracts and routes of a stack that was deleted, or restored ones; empty creates one. All three are given, or none"
  default     = null

  validation {
    condition     = var.existing_registry_table == null ? true : can(regex("^(?:([A-Za-z0-9_.-]{3,255})?)$", var.existing_registry_table))
    error_message = "existing_registry_table: see AllowedPattern, MinValue, MaxValue or AllowedValues of ExistingRegistryTable in template.yaml."
  }
}

variable "existing_workloads_table" {
  type        = string
  description = "The table of workloads of a stack that was deleted, or restored ones; empty creates one. All three are given, or none"
  default     = null

  validation {
    condition     = var.existing_workloads_table == null ? true : can(regex("^(?:([A-Za-z0-9_.-]{3,255})?)$", var.existing_workloads_table))
    error_message = "existing_workloads_table: see AllowedPattern, MinValue, MaxValue or AllowedValues of ExistingWorkloadsTable in template.yaml."
  }
}

variable "existing_ledger_table" {
  type        = string
  description = "The table of the ledger of a stack that was deleted, or restored ones; empty creates one. All three are given, or none"
  default     = null

  validation {
    condition     = var.existing_ledger_table == null ? true : can(regex("^(?:([A-Za-z0-9_.-]{3,255})?)$", var.existing_ledger_table))
    error_message = "existing_ledger_table: see AllowedPattern, MinValue, MaxValue or AllowedValues of ExistingLedgerTable in template.yaml."
  }
}

variable "kms_key" {
  type        = string
  description = "The KMS key of buckets, tables, queues, logs of the functions and the topic - an ARN, or `own` for a new one; empty encrypts by keys of AWS"
  default     = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^(?:(own|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?)$", var.kms_key))
    error_message = "kms_key: see AllowedPattern, MinValue, MaxValue or AllowedValues of KmsKey in template.yaml."
  }
}

variable "upload_keys" {
  type        = list(string)
  description = "ARNs of further KMS keys that producers encrypt their uploads with, separated by commas"
  default     = null

  validation {
    condition     = var.upload_keys == null ? true : alltrue([for each in var.upload_keys : can(regex("^(?:arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)$", each))])
    error_message = "upload_keys: see AllowedPattern, MinValue, MaxValue or AllowedValues of UploadKeys in template.yaml."
  }
}

variable "bucket_keys" {
  type        = list(string)
  description = "ARNs of the KMS keys that buckets which are given encrypt by, where they are not KmsKey, separated by commas"
  default     = null

  validation {
    condition     = var.bucket_keys == null ? true : alltrue([for each in var.bucket_keys : can(regex("^(?:arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)$", each))])
    error_message = "bucket_keys: see AllowedPattern, MinValue, MaxValue or AllowedValues of BucketKeys in template.yaml."
  }
}

variable "signing_key" {
  type        = string
  description = "The KMS key (ECC_NIST_EDWARDS25519) that signs each block of the ledger - an ARN, or `own` for a new one; empty signs nothing"
  default     = null

  validation {
    condition     = var.signing_key == null ? true : can(regex("^(?:(own|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?)$", var.signing_key))
    error_message = "signing_key: see AllowedPattern, MinValue, MaxValue or AllowedValues of SigningKey in template.yaml."
  }
}

variable "replaced_signing_key" {
  type        = string
  description = "ARN of the key that signed before SigningKey, and signs in each chain that SigningKey replaces it"
  default     = null

  validation {
    condition     = var.replaced_signing_key == null ? true : can(regex("^(?:(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?)$", var.replaced_signing_key))
    error_message = "replaced_signing_key: see AllowedPattern, MinValue, MaxValue or AllowedValues of ReplacedSigningKey in template.yaml."
  }
}

variable "anchor_days" {
  type        = number
  description = "Days for which an anchor of the ledger can be neither changed nor deleted; a function keeps one a day. 0 creates no bucket for anchors (default 0)"
  default     = null

  validation {
    condition     = var.anchor_days == null ? true : var.anchor_days >= 0
    error_message = "anchor_days: see AllowedPattern, MinValue, MaxValue or AllowedValues of AnchorDays in template.yaml."
  }

  validation {
    condition     = var.anchor_days == null ? true : var.anchor_days <= 3650
    error_message = "anchor_days: see AllowedPattern, MinValue, MaxValue or AllowedValues of AnchorDays in template.yaml."
  }
}

variable "audit_quarantine" {
  type        = bool
  description = "Whether CloudTrail records each access to quarantined objects (default false)"
  default     = null
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets (separated by commas) of the functions and the job, in a VPC with the endpoints of docs/deploy.md; empty uses no VPC"
  default     = null

  validation {
    condition     = var.subnet_ids == null ? true : alltrue([for each in var.subnet_ids : can(regex("^(?:subnet-[0-9a-z]+)$", each))])
    error_message = "subnet_ids: see AllowedPattern, MinValue, MaxValue or AllowedValues of SubnetIds in template.yaml."
  }
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups (separated by commas) of the functions and the job; needed with SubnetIds"
  default     = null

  validation {
    condition     = var.security_group_ids == null ? true : alltrue([for each in var.security_group_ids : can(regex("^(?:sg-[0-9a-z]+)$", each))])
    error_message = "security_group_ids: see AllowedPattern, MinValue, MaxValue or AllowedValues of SecurityGroupIds in template.yaml."
  }
}

variable "permissions_boundary" {
  type        = string
  description = "ARN of the permissions boundary of every role of this stack"
  default     = null

  validation {
    condition     = var.permissions_boundary == null ? true : can(regex("^(?:(arn:aws[a-z-]*:iam::[0-9a-z]+:policy/.+)?)$", var.permissions_boundary))
    error_message = "permissions_boundary: see AllowedPattern, MinValue, MaxValue or AllowedValues of PermissionsBoundary in template.yaml."
  }
}

variable "log_days" {
  type        = number
  description = "Days that logs are kept (default 90)"
  default     = null

  validation {
    condition     = var.log_days == null ? true : contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_days)
    error_message = "log_days: see AllowedPattern, MinValue, MaxValue or AllowedValues of LogDays in template.yaml."
  }
}

variable "workload_days" {
  type        = number
  description = "Days after intake for which the row of a finished delivery stays in the table of workloads - it is archived in the lake before. 0 keeps all rows (default 400)"
  default     = null

  validation {
    condition     = var.workload_days == null ? true : var.workload_days >= 0
    error_message = "workload_days: see AllowedPattern, MinValue, MaxValue or AllowedValues of WorkloadDays in template.yaml."
  }

  validation {
    condition     = var.workload_days == null ? true : var.workload_days <= 36500
    error_message = "workload_days: see AllowedPattern, MinValue, MaxValue or AllowedValues of WorkloadDays in template.yaml."
  }
}

variable "alarm_topic" {
  type        = string
  description = "ARN of the SNS topic that alarms are sent to; empty creates one"
  default     = null

  validation {
    condition     = var.alarm_topic == null ? true : can(regex("^(?:(arn:aws[a-z-]*:sns:.+)?)$", var.alarm_topic))
    error_message = "alarm_topic: see AllowedPattern, MinValue, MaxValue or AllowedValues of AlarmTopic in template.yaml."
  }
}

variable "with_api" {
  type        = bool
  description = "Whether the HTTP API has an address; an API of this kind is reached from the internet, by callers with a signature or a token (default true)"
  default     = null
}

variable "api_rate" {
  type        = number
  description = "Requests a second that the HTTP API takes of all callers together, and how many at once (default 50)"
  default     = null

  validation {
    condition     = var.api_rate == null ? true : var.api_rate >= 1
    error_message = "api_rate: see AllowedPattern, MinValue, MaxValue or AllowedValues of ApiRate in template.yaml."
  }

  validation {
    condition     = var.api_rate == null ? true : var.api_rate <= 10000
    error_message = "api_rate: see AllowedPattern, MinValue, MaxValue or AllowedValues of ApiRate in template.yaml."
  }
}

variable "jwt_issuer" {
  type        = string
  description = "The issuer of the tokens that callers of the HTTP API have; empty means that they sign by IAM"
  default     = null

  validation {
    condition     = var.jwt_issuer == null ? true : can(regex("^(?:(https://[^\\s?#]+)?)$", var.jwt_issuer))
    error_message = "jwt_issuer: see AllowedPattern, MinValue, MaxValue or AllowedValues of JwtIssuer in template.yaml."
  }
}

variable "jwt_audience" {
  type        = string
  description = "The audience, or the client, that the tokens are for; needed with JwtIssuer"
  default     = null

  validation {
    condition     = var.jwt_audience == null ? true : can(regex("^(?:[^\\s,]*)$", var.jwt_audience))
    error_message = "jwt_audience: see AllowedPattern, MinValue, MaxValue or AllowedValues of JwtAudience in template.yaml."
  }
}

variable "service_endpoint" {
  type        = string
  description = "The endpoint of all AWS services, for emulators; empty means AWS's own"
  default     = null

  validation {
    condition     = var.service_endpoint == null ? true : can(regex("^(?:(https?://\\S+)?)$", var.service_endpoint))
    error_message = "service_endpoint: see AllowedPattern, MinValue, MaxValue or AllowedValues of ServiceEndpoint in template.yaml."
  }
}

variable "emr_endpoint" {
  type        = string
  description = "The endpoint of EMR Serverless, for emulators; empty means AWS's own"
  default     = null

  validation {
    condition     = var.emr_endpoint == null ? true : can(regex("^(?:(https?://\\S+)?)$", var.emr_endpoint))
    error_message = "emr_endpoint: see AllowedPattern, MinValue, MaxValue or AllowedValues of EmrEndpoint in template.yaml."
  }
}

locals {
  given = {
    EmrApplicationId       = var.emr_application_id
    JobCode                = var.job_code
    ExtraJobParameters     = var.extra_job_parameters
    JobMinutes             = var.job_minutes == null ? null : tostring(var.job_minutes)
    MaxVcpu                = var.max_vcpu == null ? null : tostring(var.max_vcpu)
    MaxConcurrentRuns      = var.max_concurrent_runs == null ? null : tostring(var.max_concurrent_runs)
    WarmWorkers            = var.warm_workers == null ? null : tostring(var.warm_workers)
    SmallFileBytes         = var.small_file_bytes == null ? null : tostring(var.small_file_bytes)
    BatchFiles             = var.batch_files == null ? null : tostring(var.batch_files)
    BatchBytes             = var.batch_bytes == null ? null : tostring(var.batch_bytes)
    BatchSeconds           = var.batch_seconds == null ? null : tostring(var.batch_seconds)
    Prices                 = var.prices
    Unrouted               = var.unrouted
    IgnoredKeys            = var.ignored_keys
    SweepSchedule          = var.sweep_schedule
    NotifySchedule         = var.notify_schedule
    ChannelPrefix          = var.channel_prefix
    DriftSchedule          = var.drift_schedule
    PullHosts              = var.pull_hosts == null ? null : join(",", var.pull_hosts)
    PullObjects            = var.pull_objects == null ? null : join(",", var.pull_objects)
    PullSecretPrefix       = var.pull_secret_prefix
    NamingEvents           = var.naming_events == null ? null : join(",", var.naming_events)
    NamingSenders          = var.naming_senders == null ? null : join(",", var.naming_senders)
    ValidatorHosts         = var.validator_hosts == null ? null : join(",", var.validator_hosts)
    ValidatorApis          = var.validator_apis == null ? null : join(",", var.validator_apis)
    ValidatorSecretPrefix  = var.validator_secret_prefix
    ReserveConcurrency     = var.reserve_concurrency == null ? null : var.reserve_concurrency ? "yes" : "no"
    RequireApproval        = var.require_approval == null ? null : var.require_approval ? "yes" : "no"
    MissingFields          = var.missing_fields
    ExistingLandingBucket  = var.existing_landing_bucket
    LandingPrefix          = var.landing_prefix
    AdoptExisting          = var.adopt_existing == null ? null : var.adopt_existing ? "yes" : "no"
    ExistingLakeBucket     = var.existing_lake_bucket
    ExistingRegistryTable  = var.existing_registry_table
    ExistingWorkloadsTable = var.existing_workloads_table
    ExistingLedgerTable    = var.existing_ledger_table
    KmsKey                 = var.kms_key
    UploadKeys             = var.upload_keys == null ? null : join(",", var.upload_keys)
    BucketKeys             = var.bucket_keys == null ? null : join(",", var.bucket_keys)
    SigningKey             = var.signing_key
    ReplacedSigningKey     = var.replaced_signing_key
    AnchorDays             = var.anchor_days == null ? null : tostring(var.anchor_days)
    AuditQuarantine        = var.audit_quarantine == null ? null : var.audit_quarantine ? "yes" : "no"
    SubnetIds              = var.subnet_ids == null ? null : join(",", var.subnet_ids)
    SecurityGroupIds       = var.security_group_ids == null ? null : join(",", var.security_group_ids)
    PermissionsBoundary    = var.permissions_boundary
    LogDays                = var.log_days == null ? null : tostring(var.log_days)
    WorkloadDays           = var.workload_days == null ? null : tostring(var.workload_days)
    AlarmTopic             = var.alarm_topic
    WithApi                = var.with_api == null ? null : var.with_api ? "yes" : "no"
    ApiRate                = var.api_rate == null ? null : tostring(var.api_rate)
    JwtIssuer              = var.jwt_issuer
    JwtAudience            = var.jwt_audience
    ServiceEndpoint        = var.service_endpoint
    EmrEndpoint            = var.emr_endpoint
  }
  parameters = { for name, value in local.given : name => value if value != null }
}

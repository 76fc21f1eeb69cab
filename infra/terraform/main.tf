# The released template as a stack of CloudFormation: docs/deploy.md, "By Terraform or CDK".

terraform {
  required_version = ">= 1.3"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "name" {
  type        = string
  description = "The name of the stack, by which commands find it"
  default     = "lakegate"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,31}$", var.name))
    error_message = "name: 1 to 32 lower-case letters, digits and hyphens, a letter first."
  }
}

variable "template_url" {
  type        = string
  description = "The address of the template, as `lakegate stack upload` prints it"
}

variable "tags" {
  type        = map(string)
  description = "Tags of the stack. CloudFormation changes the application where they change"
  default     = { project = "lakegate" }
}

resource "aws_cloudformation_stack" "this" {
  name         = var.name
  template_url = var.template_url
  parameters   = local.parameters
  tags         = var.tags
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"] # it makes roles, and is written for SAM
  on_failure   = "ROLLBACK"                                   # a rollback deletes buckets, tables and keys, too; a deletion keeps them

  timeouts {
    create = "60m"
    update = "60m"
    delete = "60m"
  }
}

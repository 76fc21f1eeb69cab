"""Lakegate for CDK: docs/deploy.md, "By Terraform or CDK"."""

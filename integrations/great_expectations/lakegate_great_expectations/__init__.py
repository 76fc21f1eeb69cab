"""Expectation of Great Expectations that a table has the schema of a data contract. Importing it registers it."""

from lakegate_great_expectations.schema_expectation import ExpectTableSchemaToMatchDataContractSchema

__all__ = ["ExpectTableSchemaToMatchDataContractSchema"]

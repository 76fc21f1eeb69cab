"""Regular expressions of contracts: translated, bounded, rendered."""

"""Slices of Open Data Fabric: accepted rows as Parquet, with offsets, operations and times."""

"""The gate: what happens to deliveries, contracts and datasets."""

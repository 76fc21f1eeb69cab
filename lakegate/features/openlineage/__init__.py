"""OpenLineage events of deliveries."""

"""Tables of Iceberg whose snapshots are deliveries: judged on a branch, and made `main` when they are accepted."""

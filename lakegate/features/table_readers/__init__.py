"""Tables of Iceberg and Delta, read for `lakegate check --table` and for servers of contracts."""

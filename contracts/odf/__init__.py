"""Open Data Fabric (ODF): its hashes and names as texts."""

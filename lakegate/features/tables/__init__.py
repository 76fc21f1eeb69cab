"""Tables of Iceberg: accepted rows as typed files beside what arrived."""

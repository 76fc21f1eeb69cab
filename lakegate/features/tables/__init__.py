"""Tables of Iceberg: accepted rows as typed files beside what arrived, and a table in a catalog that consists of them."""

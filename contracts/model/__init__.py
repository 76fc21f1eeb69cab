"""The one model that documents of every format are read into: contracts, the types of fields, and literals."""

"""The meaning of a data contract: documents in, plans and decisions out. Pure: no clock, no environment, no I/O."""

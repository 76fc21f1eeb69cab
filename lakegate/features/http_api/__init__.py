"""HTTP API in DCM's representation, and its client."""

"""Bytes of a delivery to Arrow batches; one file per format."""

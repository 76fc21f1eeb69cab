"""The documentation site: what `make docs` adds to MkDocs. Runs in the environment `.tools/docs`."""

"""What `lakegate explain` shows: `codes.json` is written by the tests of lint, `rules.yaml` by hand."""

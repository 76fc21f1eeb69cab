"""What `lakegate explain` shows: `codes.json` is written by the tests of lint, `rules.yaml` and `outcomes.yaml` by hand."""

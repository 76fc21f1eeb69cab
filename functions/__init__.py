"""One thin module per Lambda: handler, trigger, rights."""

"""Daily anchors of the ledger."""

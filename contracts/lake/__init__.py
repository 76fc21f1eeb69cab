"""Where accepted data belongs: routes, versions, the ledger, and the states of a delivery."""

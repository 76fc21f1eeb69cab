"""What schemas cannot say about a contract: one small function for each code, found in one table (`contracts.lint`)."""

"""Published workflows: attempts, approval, callbacks, dates."""

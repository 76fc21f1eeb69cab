"""What can be decided from the first bytes of an object, before any job runs."""

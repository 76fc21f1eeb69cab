"""What Lakegate runs on: set-up, packaging and the embedded AWS."""

"""Rules of other managers measured here (they call us)."""

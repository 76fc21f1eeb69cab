"""Files to try the gate on: invented weather and orders; the same seed writes the same bytes."""

"""Numbers of a delivery outside of what the last deliveries of its dataset had: warnings without thresholds."""

"""Optional features, each with a border; core imports none."""

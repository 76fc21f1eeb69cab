"""SQL of rules: parsed, allow-listed, rendered in two dialects."""

"""From rules to checks: one small function for each kind of rule."""

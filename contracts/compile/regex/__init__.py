"""Regular expressions of plans: their syntax tree, the cost of matching them, and the engine that bounds this cost."""

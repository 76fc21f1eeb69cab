"""Read-only commands as tools of agents (Model Context Protocol)."""

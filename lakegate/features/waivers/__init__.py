"""A person lets a rejected delivery through."""

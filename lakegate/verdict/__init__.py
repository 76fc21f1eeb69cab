"""Verdict of a delivery: a pure function of plan and result."""

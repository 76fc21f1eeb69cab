"""Deployment of the stack by one command: checks beforehand, the change set in words, code, execution, smoke test."""

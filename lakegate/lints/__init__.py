"""Lints of contracts: one function per code, files by subject."""

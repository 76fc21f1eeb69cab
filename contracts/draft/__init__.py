"""Drafts a contract document from the profile of a delivery (decision 105)."""

"""The steps of a delivery, in their order."""

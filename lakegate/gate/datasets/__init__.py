"""A dataset over time: lifecycle, subscribers, deadlines, pauses, manifest, history."""

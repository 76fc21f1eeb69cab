"""The report of a judged delivery: one HTML file for people who were not there."""

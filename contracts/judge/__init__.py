"""The verdict on a result, the outcome of each check, and the words for both."""

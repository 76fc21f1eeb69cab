"""What everything else is built on: errors, texts, times, documents, extension points."""

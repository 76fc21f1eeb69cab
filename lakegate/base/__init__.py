"""The lowest layer: errors, texts, times, documents, extension points."""

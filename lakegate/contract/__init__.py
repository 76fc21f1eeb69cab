"""The content of a contract: its model, whatever the document format."""

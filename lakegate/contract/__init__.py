"""What a contract says: its model, whatever the document format."""

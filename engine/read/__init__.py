"""Reading: the bytes of a delivery as chunks of Arrow columns, malformed records counted apart."""

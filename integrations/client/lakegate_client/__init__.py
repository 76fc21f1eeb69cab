"""Client of the HTTP API of Lakegate, which needs nothing but the standard library."""

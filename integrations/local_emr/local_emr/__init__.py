"""EMR Serverless on one machine."""

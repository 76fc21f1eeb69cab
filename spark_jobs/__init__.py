"""Entry point of the EMR Serverless job."""

"""EMR Serverless on one machine: the API that boto3 calls, every state with its event, and real Spark behind it."""

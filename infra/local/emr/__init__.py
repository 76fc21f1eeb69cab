"""EMR Serverless on one machine: the API that boto3 speaks, every state with its event, and real Spark behind it."""

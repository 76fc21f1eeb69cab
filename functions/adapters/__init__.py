"""The ports as AWS has them, through boto3."""

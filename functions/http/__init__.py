"""The HTTP API: requests and answers over the use cases. API Gateway has authorised and routed each request before."""

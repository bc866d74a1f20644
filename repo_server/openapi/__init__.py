"""The API described: from the table of routes and what stands beside the handlers to OpenAPI and AsyncAPI."""

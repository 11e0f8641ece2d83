"""OpenAI's Responses API, and the servers that imitate it."""

"""Bedrock ConverseStream."""

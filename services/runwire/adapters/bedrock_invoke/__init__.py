"""Bedrock InvokeModelWithResponseStream."""

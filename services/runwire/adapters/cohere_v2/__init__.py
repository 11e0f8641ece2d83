"""Cohere's Chat API, version 2."""

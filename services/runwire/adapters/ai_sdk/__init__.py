"""The AI SDK's language model stream parts."""

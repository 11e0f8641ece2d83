"""Gemini's generateContent, of AI Studio and of Vertex."""

"""Pirá 2.0: questions about the ocean and the Brazilian coast, in English and Portuguese."""

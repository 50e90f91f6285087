"""Clients of language models: OpenAI-compatible servers (limits, retries, faults, prices) and this process (local/)."""

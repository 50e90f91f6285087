"""One OpenAI-compatible async client: limits, retries, faults, prices, tokens and batches."""

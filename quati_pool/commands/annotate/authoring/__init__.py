"""The rounds of authoring as people do them, and what comes out of them."""

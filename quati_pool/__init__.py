"""quati-pool: from a corpus and questions to a published information-retrieval test collection."""

__version__ = "0.1.0"

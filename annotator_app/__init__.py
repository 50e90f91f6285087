"""The annotator app: people grade pairs in a browser; leads review and see progress. It only draws pages and calls the
functions in ``quati_pool.commands.annotate``."""

"""The annotator app: people grade pairs in a browser; leads review and see progress. It draws, and calls steps."""

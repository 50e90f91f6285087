"""The measures behind the step ``quality``, each computed for many texts at once."""

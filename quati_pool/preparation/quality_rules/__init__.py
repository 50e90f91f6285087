"""The measures behind the step ``quality``, each taken of many texts at once."""

"""``quati-pool replay``: tries out, where people graded everything, what would have come of fewer grades."""

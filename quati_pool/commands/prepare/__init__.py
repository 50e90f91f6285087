"""``quati-pool prepare``: the steps of a ``prepare.yaml`` over all shards, and the funnel they make."""

"""``quati-pool prepare``: runs the steps of a ``prepare.yaml`` over all shards, and reports the resulting funnel."""

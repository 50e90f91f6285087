"""Where work that is cut in tasks runs: in processes of this machine, or on a cluster of Ray."""

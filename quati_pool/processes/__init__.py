"""Other processes: children that answer requests, and engines that run many tasks at once."""

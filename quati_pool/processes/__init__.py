"""Child processes that answer requests, and engines that run many tasks in parallel."""

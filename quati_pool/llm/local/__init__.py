"""Language models that run in this process, as clients like those of servers."""

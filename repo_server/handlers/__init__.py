"""One module per group of routes; each handler parses, asks one thing below, answers."""

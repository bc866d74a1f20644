"""Pages for people, made on the server: they work without scripts and load nothing from elsewhere."""

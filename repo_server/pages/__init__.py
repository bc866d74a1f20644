"""Pages for people, made on the server: no scripts, nothing from elsewhere."""

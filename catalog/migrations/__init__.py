"""Steps of the catalog's schema, oldest first; each is frozen once released."""

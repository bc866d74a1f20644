"""Records: logical hash, schemas, slices, changelog."""

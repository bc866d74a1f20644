"""Another repository, or any static web server over a dataset folder: read only (spec: Simple Transfer Protocol)."""

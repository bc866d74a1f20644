"""The HTTP face of a repository: thin handlers over storage, sync and catalog."""

"""Identities that others vouch for: issuers of OpenID Connect, and what is proved by their tokens."""

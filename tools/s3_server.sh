#!/bin/sh
# Builds the S3 server that tests talk to and no package brings, into .tools/bin, in its pinned version: versitygw, an
# S3 gateway over a folder. Needs a Go toolchain; does nothing when they are there.
set -eu

cd "$(dirname "$0")/.."
version=v1.8.0
stamp=.tools/bin/versitygw-$version

[ -x "$stamp" ] && exit 0
command -v go >/dev/null 2>&1 || {
    echo "s3 server: go is not on PATH, so versitygw cannot be built. Install Go 1.24 or newer" >&2
    exit 1
}
mkdir -p .tools/bin
GOBIN="$PWD/.tools/bin" GOFLAGS=-modcacherw go install "github.com/versity/versitygw/cmd/versitygw@$version" || {
    echo "s3 server: versitygw $version could not be built; is the Go module proxy reachable?" >&2
    exit 1
}
mv .tools/bin/versitygw "$stamp"

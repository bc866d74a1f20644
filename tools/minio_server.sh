#!/bin/sh
# Builds MinIO, a server of S3 that tests talk to and no package brings, into .tools/bin, in its pinned version. Needs a Go
# toolchain and two to three minutes; does nothing when it is there.
set -eu

cd "$(dirname "$0")/.."
version=v0.0.0-20260212201848-7aac2a2c5b7c
stamp=.tools/bin/minio-$version

[ -x "$stamp" ] && exit 0
command -v go >/dev/null 2>&1 || {
    echo "minio server: go is not on PATH, so MinIO cannot be built. Install Go 1.24 or newer" >&2
    exit 1
}
mkdir -p .tools/bin
GOBIN="$PWD/.tools/bin" GOFLAGS=-modcacherw go install -ldflags "-s -w" "github.com/minio/minio@$version" || {
    echo "minio server: MinIO $version could not be built; is the Go module proxy reachable?" >&2
    exit 1
}
mv .tools/bin/minio "$stamp"

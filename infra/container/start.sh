#!/bin/sh
# Makes the repository, in a folder or in S3, at the first start, then serves it. Everything else is set by ODF_… variables.
set -eu
: "${ODF_REPO:=/data/repository}"
export ODF_REPO
[ -e "$ODF_REPO" ] || odf init "$ODF_REPO"
exec odf serve --host "${ODF_HOST:-0.0.0.0}" --port "${ODF_PORT:-8080}"

#!/bin/sh
# Makes the repository at the first start, then serves it. Everything else is set by ODF_… variables.
set -eu
: "${ODF_REPO:=/data/repository}"
export ODF_REPO
[ -e "$ODF_REPO" ] || odf init "$ODF_REPO"
exec odf serve --host 0.0.0.0 --port "${ODF_PORT:-8080}"

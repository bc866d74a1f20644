#!/bin/sh
# Prepares the virtual environment in .venv: finds a Python, finds or fetches uv, installs a hashed lock and then the
# project itself, which is three distributions. Usage: tools/bootstrap.sh LOCK-NAME   (run, dev: the files in requirements/)
set -eu

cd "$(dirname "$0")/.."
lock="requirements/${1:?name of a lock in requirements/}.txt"

fail() {
    echo "bootstrap: $1" >&2
    exit 1
}

find_python() {
    for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3.14 python3 python; do
        if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    fail "no Python 3.11 or newer on PATH. Install one (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/python"
}

# A uv on PATH is taken as it is; else one is put into .tools/, a folder of this project.
find_uv() {
    if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
        command -v uv
        return
    fi
    if [ ! -x .tools/uv/bin/uv ]; then
        rm -rf .tools/uv
        mkdir -p .tools
        "$python" -c 'import venv, ensurepip' 2>/dev/null \
            || fail "$python lacks the venv module. Install it (Debian: apt-get install python3-venv) or put uv on PATH"
        "$python" -m venv .tools/uv >&2 || fail "could not make a virtual environment in .tools/uv"
        .tools/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt >&2 \
            || fail "could not install uv; is the package index reachable?"
    fi
    echo "$PWD/.tools/uv/bin/uv"
}

python=$(find_python)
uv=$(find_uv)

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    rm -rf .venv
    "$uv" venv --quiet --no-project --python "$python" .venv || fail "could not make .venv with $python"
fi

# Certificates of the system, as every other tool uses them: behind a proxy the ones that uv brings along are not enough.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" UV_NATIVE_TLS="${UV_NATIVE_TLS:-true}"
"$uv" pip install --quiet --python .venv/bin/python --require-hashes -r "$lock" \
    || fail "could not install $lock; is the package index reachable?"
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --no-index \
    --editable distributions/core --editable distributions/client --editable . \
    || fail "could not install the project itself"
tools/java.sh

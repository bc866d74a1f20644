"""What a result may depend on is told."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from verify.environment import environment, time_zone_data

ENGINE = {
    "engine": "pyspark 4.1.0",
    "java": "17.0.1+12",
    "arrow": "26.0.0",
    "settings": "f1620" + "0" * 64,
    "sandboxed": True,
}


def test_versions_of_everything_that_computes_are_named() -> None:
    found = environment()
    assert found.software["python"] == platform.python_version()
    assert {"odf-repository", "pyarrow", "datafusion"} <= set(found.software)
    assert found.software["pyarrow"] == version("pyarrow")
    assert found.engine is None


def test_what_spark_told_is_kept() -> None:
    engine = environment(ENGINE).engine
    assert engine is not None
    assert (engine.engine, engine.java, engine.sandboxed) == ("pyspark 4.1.0", "17.0.1+12", True)


def test_the_version_of_the_time_zones_is_read_from_the_first_folder_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "tzdata.zi").write_text("# version 2025b\nR d 1916 o -\n")
    assert time_zone_data((str(tmp_path / "nothing"), str(tmp_path))) == "2025b"


def test_a_file_without_a_version_tells_none(tmp_path: Path) -> None:
    (tmp_path / "tzdata.zi").write_bytes(b"\xff\xfe")
    assert time_zone_data((str(tmp_path),)) == time_zone_data(())

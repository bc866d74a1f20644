"""Packages that not everybody needs: who asks for what they do is told how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opendatafabric.errors import UnsupportedOperation


def package_of(extra: str, module: str) -> Any:
    """The ``module`` that the ``extra`` brings.

    Raises:
        UnsupportedOperation: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise UnsupportedOperation(
            f"this needs the package {name}", hint=f"pip install 'odf-client[{extra}]'"
        ) from None

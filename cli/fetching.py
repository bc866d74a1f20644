"""What polls may use, by the settings."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.fetch import FetchOptions
from repo_server.config import Settings


def fetch_options(settings: Settings, variables: Mapping[str, str]) -> FetchOptions:
    """For datasets of one's own; ``variables`` are those that templates may name."""
    return FetchOptions(
        variables,
        ethereum_nodes={chain: url.get_secret_value() for chain, url in settings.ethereum_nodes.items()},
        ethereum_confirmations=settings.ethereum_confirmations,
        container_runtime=settings.container_runtime,
        pipes=settings.pipes,
    )

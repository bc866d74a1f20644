"""How web servers are to serve an exported tree: what may be kept for ever, what must be asked for again, what is
hidden. Written out for nginx and for Caddy from one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.static_tree import INDEX_NAME


@dataclass(frozen=True, slots=True)
class CachingRule:
    """Paths that ``pattern`` matches (a regular expression) are sent with this ``Cache-Control``."""

    pattern: str
    cache_control: str


HIDDEN: Final = r"/\."
"""Paths that are nobody's business: what is being written, and notes of those who write."""

RULES: Final = (
    CachingRule(r"/(blocks|data|checkpoints)/f1620[0-9a-f]{64}$", "public, max-age=31536000, immutable"),
    CachingRule(rf"(/refs/[^/]+|/info/[^/]+|^/{INDEX_NAME.replace('.', chr(92) + '.')})$", "no-cache"),
)


def nginx_snippet(root: Path, site: str) -> str:
    """A ``server`` block."""
    return "\n".join(
        [
            "server {",
            f"    listen {site.removeprefix(':')};",
            f"    root {json.dumps(str(root))};",
            "    default_type application/octet-stream;",
            f'    location ~ "{HIDDEN}" {{ return 404; }}',
            *(
                f'    location ~ "{rule.pattern}" {{ add_header Cache-Control "{rule.cache_control}"; }}'
                for rule in RULES
            ),
            "}\n",
        ]
    )


def caddy_snippet(root: Path, site: str) -> str:
    """A site of a Caddyfile."""
    matched = [(f"@rule{number}", rule) for number, rule in enumerate(RULES)]
    return "\n".join(
        [
            f"{site} {{",
            f"\troot {json.dumps(str(root))}",
            f"\t@hidden path_regexp `{HIDDEN}`",
            "\trespond @hidden 404",
            *(f"\t{name} path_regexp `{rule.pattern}`" for name, rule in matched),
            *(f"\theader {name} Cache-Control {json.dumps(rule.cache_control)}" for name, rule in matched),
            "\tfile_server",
            "}\n",
        ]
    )


SNIPPETS: Final[Mapping[str, Callable[[Path, str], str]]] = {"caddy": caddy_snippet, "nginx": nginx_snippet}
"""One row per web server."""

"""Write ``docs/reference/limits.md`` anew: every limit with its value and reason, where it is set, and what is
answered beyond it.

.venv/bin/python -m tools.limits_page
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
from types import ModuleType
from typing import Final

import opendatafabric
from repo_server.config import Settings
from repo_server.rate_limits import LOGINS_OF_NAME
from tests.source_tree import ROOT

PAGE: Final = ROOT / "docs" / "reference" / "limits.md"
SETTINGS: Final = {
    "reads_per_minute": "429 `too-many-requests`",
    "transfers_per_minute": "429 `too-many-requests`",
    "writes_per_minute": "429 `too-many-requests`",
    "failed_logins_per_5_minutes": "429 `too-many-requests`",
    "login_polls_per_minute": "429 `too-many-requests`",
    "bad_tokens_per_minute": "429 `too-many-requests`",
    "quota_account_bytes": "403 `quota-exceeded`; in a push, a refusal with the numbers",
    "quota_account_objects": "403 `quota-exceeded`; in a push, a refusal with the numbers",
    "quota_account_datasets": "403 `quota-exceeded`; in a push, a refusal with the numbers",
    "quota_dataset_bytes": "403 `quota-exceeded`; in a push, a refusal with the numbers",
    "quota_dataset_objects": "403 `quota-exceeded`; in a push, a refusal with the numbers",
    "object_bytes_max": "413 `limit-exceeded`; in a push, a refusal",
    "ingest_bytes_max": "413 `limit-exceeded`",
    "account_uploads_bytes_max": "413 `limit-exceeded`",
    "body_bytes_per_s_min": "408 `body-too-slow`",
    "stall_s": "408 `body-too-slow`",
    "requests_at_once": "503 `server-busy`, `Retry-After`",
    "pulls_at_once": "503 `server-busy`, `Retry-After`",
    "pushes_at_once": "503 `server-busy`, `Retry-After`",
    "ingests_at_once": "503 `engine-unavailable`, `Retry-After`",
    "pull_silence_s": "the WebSocket is closed, 1008",
    "push_silence_s": "the WebSocket is closed, 1008",
    "connections_max": "the connection is closed",
    "connections_per_address_max": "the connection is closed",
    "ingest_s_max": "413 `limit-exceeded`",
    "queries_at_once": "503 `engine-unavailable`, `Retry-After`",
    "query_s_max": "413 `limit-exceeded`",
    "query_memory_bytes_max": "413 `limit-exceeded`",
    "query_rows_max": "413 `limit-exceeded`",
    "query_answer_bytes_max": "413 `limit-exceeded`",
    "query_fetch_bytes_max": "413 `limit-exceeded`",
    "downloads_at_once": "the others wait",
    "download_s_max": "413 `limit-exceeded`",
    "downloads_bytes_max": "what was not used for longest is removed",
    "listeners_at_once": "503 `server-busy`, `Retry-After`",
    "webhooks_at_once": "the others wait",
    "webhook_tellings_per_minute": "the rest is told later",
    "token_days_max": "400 `malformed-input`",
    "job_s_max": "the job has failed",
    "spark_memory_bytes_max": "the job has failed, `limit-exceeded`",
    "spark_jobs_per_engine": "the engine is started anew",
    "scrub_bytes_per_s": "scrubbing goes slower",
    "packs_bytes_max": "what was not used for longest is removed",
    "block_cache_bytes_max": "what was not used for longest is forgotten",
    "upstream_cache_bytes_max": "what was not used for longest is removed",
}
"""Settings of a server that limit something, and what happens beyond."""

_HEAD: Final = """# Limits

Every maximum of the system. Those of a server can be set ([settings](settings.md)); the others are the same
everywhere, so that what one repository takes, another takes too. Beyond one of those a command or an answer says
`limit-exceeded`, or that the input is malformed, and names the limit. This page is written by
`python -m tools.limits_page` from the code.

## Of a server

| Setting | By default | Limits | Beyond it |
|---|---|---|---|
"""
_MORE: Final = f"""
A request line and each header have at most 16 KiB; longer ones are 431. JSON bodies have at most 64 KiB unless said
otherwise.

**Who is counted as one.** With a token that counts, the account; else the address, of IPv6 the network of 64 bits.
Behind a proxy that is the address of the proxy, unless `ODF_TRUSTED_PROXIES` names it. Requests are counted in each
process, logins that fail over all servers of a catalog. A budget is refilled steadily: with 600 a minute, one comes
back every tenth of a second, and all 600 may be used at once. Under one name {LOGINS_OF_NAME.count} logins an hour may
fail, from all addresses: more than one address may make, so that it can lock nobody out. A login that succeeds costs
nothing.
"""
_KIB: Final = 1024


def modules() -> list[ModuleType]:
    """Where limits stand: ``limits.py``, then those of one subject each."""
    names = [each.name for each in pkgutil.iter_modules(opendatafabric.__path__) if each.name.endswith("limits")]
    return [importlib.import_module(f"opendatafabric.{name}") for name in sorted(names, key=_last_word_first)]


def page() -> str:
    """The whole page."""
    rows = "".join(_setting_row(name, beyond) for name, beyond in SETTINGS.items())
    return _HEAD + rows + _MORE + "".join(map(_section, modules()))


def _setting_row(name: str, beyond: str) -> str:
    field = Settings.model_fields[name]
    description = (field.description or "").replace("|", "\\|")
    return f"| `ODF_{name.upper()}` | {_value(name, field.default)} | {description} | {beyond} |\n"


def _section(module: ModuleType) -> str:
    title = str(module.__doc__).partition(":")[0]
    rows = "".join(f"| `{name}` | {_value(name, getattr(module, name))} | {why} |\n" for name, why in _reasons(module))
    return f"\n## {title}\n\n| Limit | Is | Why |\n|---|---|---|\n{rows}"


def _last_word_first(name: str) -> list[str]:
    return name.split("_")[::-1]


def _reasons(module: ModuleType) -> list[tuple[str, str]]:
    lines = ast.parse(inspect.getsource(module)).body
    return [
        (ast.unparse(line.target), " ".join(str(after.value.value).split()))
        for line, after in itertools.pairwise(lines)
        if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]


def _value(name: str, value: float) -> str:
    words = set(name.lower().split("_"))
    if "bytes" in words:
        return _bytes(int(value)) + (" a second" if {"per", "s"} <= words else "")
    return f"{value:,g} s" if "s" in words else f"{value:,.10g}"


def _bytes(size: int) -> str:
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = _KIB ** (("KiB", "MiB", "GiB", "TiB").index(unit) + 1)
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size:,} bytes"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

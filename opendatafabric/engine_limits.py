"""Of engines: of those that run elsewhere, and of what is known of all of them."""

from __future__ import annotations

from typing import Final

ENGINE_HEARTBEAT_S: Final = 1
"""How often a coordinator hears that its request is worked on: between answers nothing tells a busy engine from a dead
one."""

ENGINE_SILENCE_S_MAX: Final = 300
"""An engine that says nothing for so long is asked whether it is alive: some take it for an attack sooner than that."""

ENGINE_REPLY_S_MAX: Final = 20
"""Longest wait for the answer to that."""

COORDINATOR_SILENCE_S_MAX: Final = 60
"""The same of a coordinator: nobody should compute for one that is gone."""

ENGINE_RUNS_MAX: Final = 1_000
"""Changes of the engine that are remembered of one derivative: one for every update of its software in many years."""

ENGINE_RECORDS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Largest file that remembers them; each takes some hundred bytes."""

REPLAY_TOGETHER_STEPS_MAX: Final = 1_000
"""Steps of a derivative that are repeated in one job: their names and answers are one message of a few 100 KB."""

REPLAY_TOGETHER_RECORDS_MAX: Final = 1_000_000
"""Records that they read: of larger steps one takes long enough by itself."""

"""Of servers that strangers use: of what they may ask and send."""

from __future__ import annotations

from typing import Final

AUDIT_TEXT_CHARS_MAX: Final = 500
"""Of a text in the audit log so much is kept: strangers write some of them."""

ACCOUNT_TOKENS_MAX: Final = 10_000
"""Tokens of an account, with those that ended lately: a program that logs in every five minutes has as many."""

ENDED_TOKENS_KEPT_S: Final = 90 * 86_400
"""How long a token that ended is still listed."""

PASSWORD_CHARS_MIN: Final = 8
"""Shortest password; the reference asks for as much."""

PASSWORD_CHARS_MAX: Final = 1_000
"""Longest password looked at."""

PASSWORD_HASH_KIB: Final = 19_456
"""Memory of one password check, with two passes: the least that OWASP advises for argon2id; here some 50 ms."""

PASSWORD_CHECKS_AT_ONCE: Final = 2
"""Each takes ``PASSWORD_HASH_KIB`` and a core."""

PASSWORD_CHECKS_WAITING_MAX: Final = 50
"""Passwords that are checked or wait for it; more are refused: the last waits a second or two."""

AUDIT_LINE_BYTES_MAX: Final = 256 * 1024
"""Longest line of an audit log in a file: some twenty texts, each character an escape."""

HEADER_BYTES_MAX: Final = 16 * 1024
"""Longest request line or header of a request: tokens have under 8,000 characters, paths far less."""

HEAD_SIGNATURES_MAX: Final = 1_000
"""Signatures of heads kept of a dataset; the oldest go first, and are asked for by those alone who go back so far."""

IDEMPOTENCY_KEYS_MAX: Final = 10_000
"""Idempotency keys of one account in a day: one every nine seconds."""

ACCOUNT_WEBHOOKS_MAX: Final = 100
"""Webhooks that one account has made: each is looked at for every event."""

WEBHOOK_URL_CHARS_MAX: Final = 2_000
"""Longest address of a webhook; those of chat services have some hundred."""

WEBHOOK_BODY_BYTES_MAX: Final = 64 * 1024
"""Longest event that is told to webhooks, as CloudEvents asks of those who pass events on; ours have under 3 KiB."""

WEBHOOK_SECONDS_MAX: Final = 20
"""Longest wait for the receiver of a webhook: one that has more to do answers 202 first."""

WEBHOOK_RETRY_AFTER_S_MAX: Final = 86_400
"""Longest wait that the receiver of a webhook may ask for: a day."""

WEBHOOK_DELIVERIES_KEPT: Final = 100
"""Attempts that are kept of each webhook; the oldest go first."""

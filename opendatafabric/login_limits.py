"""Of logins: of passwords, of devices and of issuers of identities."""

from __future__ import annotations

from typing import Final

DEVICE_LOGIN_S: Final = 300
"""How long a program waits for a person to let it in, as in the reference."""

DEVICE_POLL_S: Final = 5
"""How often it asks whether that has happened, as in the reference."""

DEVICE_TOLD_S: Final = 600
"""How long after its end a login is still told apart from one that never was."""

DEVICE_LOGINS_MAX: Final = 10_000
"""Logins of programs known at once: anybody may begin one, and each is a row."""

FORM_BYTES_MAX: Final = 16 * 1024
"""Largest form of a page or a login: names, passwords and codes."""

FORM_FIELDS_MAX: Final = 100
"""Most fields of such a form: a box for every scope and some datasets."""

PAGE_PATH_CHARS_MAX: Final = 2_000
"""Longest path of a page to go on to after a login."""

ISSUER_ANSWER_BYTES_MAX: Final = 256 * 1024
"""Largest document of an issuer of identities: those in use are under 20 KiB, keys included."""

ISSUER_KEYS_MAX: Final = 100
"""Most keys of an issuer: those in use have two to eight."""

ISSUER_ANSWER_S_MAX: Final = 10
"""Longest wait for an answer of an issuer: somebody waits for the login meanwhile."""

ISSUER_KEYS_FRESH_S: Final = 3_600
"""How long keys of an issuer are kept: one that it has taken back counts for so long."""

ISSUER_KEYS_ASKED_S: Final = 60
"""An unknown key has the keys of an issuer fetched anew no more often than this: tokens of strangers may name any."""

ISSUERS_MAX: Final = 100
"""Issuers whose keys are kept at once."""

IDENTITY_TOKEN_CHARS_MAX: Final = 16_000
"""Longest token of an issuer: those of CI runs are under 3,000."""

IDENTITY_LEEWAY_S: Final = 60
"""How far the clock of an issuer may be off."""

EXTERNAL_LOGIN_S: Final = 600
"""How long a person may take to log in at an issuer."""

EXTERNAL_SUBJECT_CHARS_MAX: Final = 255
"""Longest subject of an issuer, as OpenID Connect has it."""

PUBLISHERS_MAX: Final = 50
"""Publishers of one dataset: a few repositories and their branches."""

PUBLISHER_CLAIMS_MAX: Final = 20
"""Conditions of one publisher; CI systems have some thirty claims."""

PUBLISHER_TEXT_CHARS_MAX: Final = 500
"""Longest issuer, audience, claim or pattern of a publisher."""

IDENTITY_TOKEN_KEPT_S_MAX: Final = 86_400
"""How long a token of an issuer is remembered as used, at most: one that is good for longer is refused."""

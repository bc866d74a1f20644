"""Settings of logins: part of those of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode

from repo_server.setting_values import words

_WEB_ADDRESS = r"^https?://[^\s?#@]+$"


class LoginSettings(BaseSettings):
    """Part of ``Settings``."""

    session_s: float = Field(43_200, ge=60, description="how long a browser stays logged in, in seconds")
    oidc_issuer: str | None = Field(
        None, pattern=_WEB_ADDRESS, description="issuer of OpenID Connect that people log in at"
    )
    oidc_label: str = Field("single sign-on", description="what the page to log in calls it")
    oidc_client_id: str | None = Field(None, description="what this server is called there")
    oidc_client_secret: SecretStr | None = Field(None, description="its secret there; public clients have none")
    oidc_client_secret_file: Path | None = Field(None, description="file with that secret, instead")
    oidc_scopes: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        ("openid", "profile", "email"), description="scopes asked for there, parted by blanks"
    )
    oidc_name_claim: str = Field("preferred_username", description="claim that a new account is called after")
    oidc_allowed_domains: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        (), description="domains of verified mail addresses that are let in, parted by blanks; all by default"
    )
    oidc_required_claims: dict[str, str] = Field(
        default_factory=dict,
        description='claims without which nobody is let in, as JSON: {"groups": "odf"}; * stands for any text',
    )
    oidc_create_accounts: bool = Field(True, description="whether the first login there makes an account here")
    ci_issuers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words)] = Field(
        (),
        description="issuers of CI systems in one's own network, parted by blanks; others have public addresses",
    )
    ci_token_s: float = Field(
        900, ge=60, le=86_400, description="how long a token is good that a CI run got for its own, in seconds"
    )

    @property
    def own_issuers(self) -> frozenset[str]:
        """Those that the operator answers for: they may lie in a private network."""
        return frozenset({*self.ci_issuers, *([] if self.oidc_issuer is None else [self.oidc_issuer])})

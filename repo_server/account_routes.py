"""The rows of the table of routes that are about accounts and their tokens."""

from __future__ import annotations

from typing import Final

from catalog.scopes import Scope
from repo_server.handlers import accounts, members, tokens, usage
from repo_server.needs import ACCOUNT, ADMIN, OfNode, Who
from repo_server.repeating import Repeats
from repo_server.route import Route

_OWN: Final = OfNode(Who.ACCOUNT, Scope.ACCOUNTS_MANAGE)

ACCOUNT_ROUTES: Final = (
    Route("PUT", "/accounts/me/password", accounts.put_password, "change one's password", _OWN),
    Route("DELETE", "/accounts/me", accounts.delete_me, "delete one's account, if it owns no datasets", _OWN),
    Route("GET", "/accounts/me/tokens", tokens.get_tokens, "one's tokens", _OWN),
    Route("POST", "/accounts/me/tokens", tokens.post_token, "make a token", _OWN, repeats=Repeats.SECRET),
    Route("DELETE", "/accounts/me/tokens/{token_id}", tokens.delete_token, "end a token at once", _OWN),
    Route("GET", "/accounts/me/usage", usage.get_my_usage, "what one has, and may have", ACCOUNT),
    Route("GET", "/accounts/{account}/usage", usage.get_usage, "what it has, and may have", ADMIN),
    Route("PUT", "/accounts/{account}/quota", usage.put_quota, "let it have so much", ADMIN),
    Route("GET", "/accounts", accounts.get_accounts, "the accounts", ADMIN),
    Route("POST", "/accounts", accounts.post_account, "make an account", ADMIN, repeats=Repeats.KEPT),
    Route("GET", "/accounts/{account}", accounts.get_account, "one account", ADMIN),
    Route("PATCH", "/accounts/{account}", accounts.patch_account, "rename, disable, enable, promote it", ADMIN),
    Route("DELETE", "/accounts/{account}", accounts.delete_account, "delete it, if it owns no datasets", ADMIN),
    Route("GET", "/accounts/{account}/tokens", accounts.get_tokens_of, "its tokens", ADMIN),
    Route("DELETE", "/accounts/{account}/tokens/{token_id}", accounts.delete_token_of, "end one of them", ADMIN),
    Route("GET", "/accounts/{account}/members", members.get_members, "the members of an organisation", _OWN),
    Route("PUT", "/accounts/{account}/members/{member}", members.put_member, "give a member a role", _OWN),
    Route("DELETE", "/accounts/{account}/members/{member}", members.delete_member, "end a membership", _OWN),
)

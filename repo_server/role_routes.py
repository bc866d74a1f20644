"""The rows of the table of routes that are about roles in a dataset, and about who may read it without one."""

from __future__ import annotations

from typing import Final

from catalog.permissions import Access
from repo_server.handlers import roles
from repo_server.route import Route

ROLE_ROUTES: Final = (
    Route("GET", "/roles", roles.get_roles, "who was given which role in the dataset", Access.MAINTAIN),
    Route("PUT", "/roles/{holder}", roles.put_role, "give an account or a team a role", Access.MAINTAIN),
    Route("DELETE", "/roles/{holder}", roles.delete_role, "take it away", Access.MAINTAIN),
    Route("GET", "/visibility", roles.get_visibility, "who may read without a role", Access.READ),
    Route("PUT", "/visibility", roles.put_visibility, "say who may", Access.OWN),
)

"""Bodies of requests as types: what they may say is said once, and whatever else they say is refused."""

from __future__ import annotations

from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from opendatafabric.errors import MalformedInput
from repo_server.body import read_json
from repo_server.services import SERVICES

_NAME_CHARS_MAX = 100


class JsonBody(BaseModel):
    """A JSON object with these fields in camelCase, of exactly these types, and with no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


B = TypeVar("B", bound=JsonBody)


async def read_body(request: web.Request, form: type[B]) -> B:
    """The body of ``request``; errors as ``read_json``.

    Raises:
        MalformedInput: a field is missing, unknown or of another type; its value, which may be secret, is not repeated.
    """
    given = await read_json(request, request.app[SERVICES].settings)
    try:
        return form.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    name = ".".join(map(str, first["loc"]))[:_NAME_CHARS_MAX]
    told = "it is unknown" if first["type"] == "extra_forbidden" else first["msg"]
    fields = ", ".join(field.alias or name for name, field in form.model_fields.items())
    raise MalformedInput(f"field '{name}': {told}", expected=f"an object with {fields}")

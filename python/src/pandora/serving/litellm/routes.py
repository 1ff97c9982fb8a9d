"""Routes beside the proxy's own, under /cascade: feedback, explanations, metrics, versions, and a page for a person.

All routes except the page, which holds no data, need a key of the proxy. Routes that show or change more than one
answer need its master key.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import litellm
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from litellm.proxy._types import LiteLLMRoutes, LitellmUserRoles, UserAPIKeyAuth
from litellm.proxy.auth.user_api_key_auth import user_api_key_auth

from ...errors import DataError, Error, UsageError
from .. import FeedbackConflict, FeedbackRemoved
from .errors import ToldError, refused
from .handler import handler, number_of
from .metrics import exposed
from .saving import saved_of

_MOST_BYTES = 1 << 14  # of a body, except one with a cascade
_MOST_CASCADE_BYTES = 1 << 26
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_PAGE = pathlib.Path(__file__).with_name("page.html")
#: The page runs only its own script, and no other page can show it in a frame.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def add_to_proxy() -> None:
    """Puts the routes into LiteLLM's proxy, once."""
    from litellm.proxy.proxy_server import app

    if not any(getattr(route, "path", None) == "/cascade/feedback" for route in app.routes):
        router = APIRouter()
        for route, method, path in _ROUTES:
            router.add_api_route(f"/cascade{path}", route, methods=[method], include_in_schema=False)
        app.include_router(router)
        # So that virtual keys, which may only call models, may also rate their answers.
        LiteLLMRoutes.openai_routes.value.extend(["/cascade/feedback", "/cascade/explain/{id}"])


def _told(error: BaseException) -> Response:
    if isinstance(error, ToldError):
        return JSONResponse({"error": error.to_dict()}, error.status_code, error.headers)
    if isinstance(error, UsageError):
        return _told(refused(None, str(error)))
    if isinstance(error, Error):
        return _told(ToldError(503, "the cascade's state cannot be reached; try again later", code="not_kept"))
    raise error


def _require_own_origin(http: Request) -> None:
    """Raises ToldError for requests from another web page: browsers send the page's origin."""
    origin = http.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != http.headers.get("host"):
        raise ToldError(403, "this route takes no requests of other web pages", code="foreign_origin")


def _require_master(key: UserAPIKeyAuth) -> None:
    from litellm.proxy.proxy_server import master_key

    if not master_key:
        raise ToldError(403, "set general_settings.master_key: this route needs the proxy's master key", code="no_key")
    if key.user_role != LitellmUserRoles.PROXY_ADMIN:
        raise ToldError(403, "this route needs the proxy's master key", code="master_key_required")


async def _body(http: Request, most: int = _MOST_BYTES) -> dict[str, Any]:
    """The body's object. Raises ToldError."""
    # LiteLLM's check of the key has read and stored it; the stored length limits what is parsed here. For a form, which
    # is curl's default for any body, it stores nothing.
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS:
        raise ToldError(415, "the body is sent as a form; send the header Content-Type: application/json", code="form")
    data = await http.body()
    if len(data) > most:
        raise ToldError(413, f"the body has more than {most} bytes", code="body_too_large")
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        raise refused(None, "the body is not JSON", "invalid_json") from None
    if not isinstance(found, dict):
        raise refused(None, "the body is no object", "invalid_type")
    return found


def _named(body: dict[str, Any]) -> Any:
    """The service that a body names; if there is only one, the body need not name it."""
    services = handler.services
    name = body.get("name", next(iter(services)) if len(services) == 1 else None)
    if not isinstance(name, str) or name not in services:
        raise refused("name", f"name: give one of {', '.join(services)}")
    return services[name]


async def feedback(http: Request, key: UserAPIKeyAuth = Depends(user_api_key_auth)) -> Response:  # noqa: B008
    """{"id": "cascade-7124838092242945", "quality": 1}: 200 where it is kept, 202 where it waits for the database."""
    try:
        _require_own_origin(http)
        body = await _body(http)
        quality = body.get("quality")
        if isinstance(quality, bool) or not isinstance(quality, (int, float)) or not 0.0 <= quality <= 1.0:
            raise refused("quality", "quality: give a number from 0 to 1")
        try:
            number_of(body.get("id"))
        except UsageError as error:
            raise refused("id", str(error)) from None
        try:
            is_kept = await asyncio.to_thread(handler.feedback, body["id"], float(quality))
        except FeedbackConflict:
            raise ToldError(409, "the answer has another feedback already", "quality", "feedback_conflict") from None
        except FeedbackRemoved as error:
            raise ToldError(410, str(error), "id", "feedback_removed") from None
        except UsageError as error:
            raise ToldError(404, str(error), "id", "not_found") from None
        return JSONResponse({"id": body["id"], "kept": is_kept}, 200 if is_kept else 202)
    except Exception as error:
        return _told(error)


async def explain(id: str, key: UserAPIKeyAuth = Depends(user_api_key_auth)) -> Response:  # noqa: B008
    """Why a request went as it did, by its answer's id."""
    try:
        try:
            found = await asyncio.to_thread(handler.explain, id)
        except UsageError as error:
            raise ToldError(404, str(error), "id", "not_found") from None
        return Response(json.dumps(found), media_type="application/json")
    except Exception as error:
        return _told(error)


async def metrics(http: Request) -> Response:
    """For Prometheus; without a key only if LiteLLM's own metrics need none."""
    try:
        if litellm.require_auth_for_metrics_endpoint is not False:
            await user_api_key_auth(http, api_key=http.headers.get("authorization", ""))
        return Response(await asyncio.to_thread(exposed, handler.services), media_type="text/plain; version=0.0.4")
    except Error as error:
        return _told(error)


async def page() -> Response:
    """A page for a person, whose script asks for the key and shows /cascade/state."""
    return HTMLResponse(_PAGE.read_text(encoding="utf-8"), headers=_PAGE_HEADERS)


async def state(key: UserAPIKeyAuth = Depends(user_api_key_auth)) -> Response:  # noqa: B008
    """The data of the page: for each cascade its metrics, and its promise."""
    try:
        _require_master(key)

        def found() -> dict[str, Any]:
            out = {}
            for name, service in handler.services.items():
                kept = service.store.metrics()
                own = {"unjudged": service.unjudged, "faults": dict(service.faults), "saved": saved_of(kept)}
                out[name] = {**kept, **own}
            return out

        return Response(json.dumps(await asyncio.to_thread(found)), media_type="application/json")
    except Exception as error:
        return _told(error)


async def publish(http: Request, key: UserAPIKeyAuth = Depends(user_api_key_auth)) -> Response:  # noqa: B008
    """{"name": "support"}: reads the cascade's file again; with a member `cascade`, uses that instead."""
    return await _changed(http, key, _published)


async def rollback(http: Request, key: UserAPIKeyAuth = Depends(user_api_key_auth)) -> Response:  # noqa: B008
    """{"name": "support"}: goes back to the version before the present one."""
    return await _changed(http, key, lambda service, body: service.store.rollback())


async def _changed(http: Request, key: UserAPIKeyAuth, change: Callable[[Any, dict[str, Any]], Any]) -> Response:
    try:
        _require_own_origin(http)
        _require_master(key)
        body = await _body(http, _MOST_CASCADE_BYTES)
        service = _named(body)
        version = await asyncio.to_thread(change, service, body)
        return JSONResponse({"name": service.settings.name, "version": version})
    except Exception as error:
        return _told(error)


def _published(service: Any, body: dict[str, Any]) -> Any:
    if "cascade" not in body:
        if service.settings.cascade is None:
            raise refused("cascade", f"cascade: cascades.toml names no file of {service.settings.name}; give its JSON")
        try:
            return service.store.publish(service.settings.cascade)
        except (UsageError, DataError) as error:
            raise refused("cascade", str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cascade.json"
        path.write_text(json.dumps(body["cascade"]), encoding="utf-8")
        try:
            return service.store.publish(path)
        except (UsageError, DataError) as error:
            raise refused("cascade", str(error).replace(str(path), "cascade")) from None


_ROUTES: list[tuple[Callable[..., Any], str, str]] = [
    (feedback, "POST", "/feedback"), (explain, "GET", "/explain/{id}"), (metrics, "GET", "/metrics"),
    (page, "GET", ""), (state, "GET", "/state"), (publish, "POST", "/publish"), (rollback, "POST", "/rollback"),
]  # fmt: skip

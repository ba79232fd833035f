"""Determines which intent a request calls, over UIM, MCP or A2A."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from ._agreements import Agreements
from ._answers import Answer, Charge, charge_of, parse_charge, read_refusal
from ._errors import JsonError, RefusalError, UimError, refusal_error
from ._json import decode
from ._network import Exchange
from ._settings import Flow

_MAX_BODY = 8 << 20
_MAX_PAGES = 50
_MAX_DEPTH = 12
_PAUSE = 60.0  # seconds between two requests for the list of tools


@dataclass(frozen=True)
class Subject:
    """A call: the UID of its intent, and its parameters."""

    uid: str
    parameters: dict[str, Any]


class Subjects:
    """Reads requests to one service."""

    def __init__(self, agreements: Agreements) -> None:
        self._agreements = agreements
        self._tools: dict[str, str] = {}  # UIDs by the names of tools
        self._listed: float | None = None

    def of(self, url: str, body: bytes) -> Flow:
        """Returns the call that a request makes, or None."""
        endpoints = self._agreements.catalog.endpoints
        if not body or len(body) > _MAX_BODY:
            return None
        try:
            tree = decode(body, exact=True)
        except JsonError:
            return None
        if not isinstance(tree, dict):
            return None
        execute = _plain(endpoints["uim-api-execute"])
        if _plain(url) == execute:
            return _subject(tree.get("intent_uid"), tree.get("parameters"))
        if _plain(url).startswith(execute + "/"):
            return _subject(unquote(_plain(url)[len(execute) + 1 :]), tree.get("parameters"))
        if "uim-mcp" in endpoints and _plain(url) == _plain(endpoints["uim-mcp"]):
            return (yield from self._tool(tree))
        if "uim-a2a" in endpoints and _plain(url).startswith(_plain(endpoints["uim-a2a"])):
            return _message(tree)
        return None

    def _tool(self, tree: dict[str, Any]) -> Flow:
        params = tree.get("params")
        if tree.get("method") != "tools/call" or not isinstance(params, dict) or not isinstance(params.get("name"), str):
            return None
        name, arguments = params["name"], params.get("arguments")
        if name == "call_intent" and isinstance(arguments, dict):
            return _subject(arguments.get("uid"), arguments.get("parameters"))
        if name in self._agreements.catalog.intents:  # the UID is a name, too
            return _subject(name, arguments)
        if name not in self._tools:
            yield from self._list()
        return _subject(self._tools.get(name), arguments)

    def _list(self) -> Flow:
        """Reads the names of the tools. The _meta of each has the UID of its intent."""
        agreements = self._agreements
        now = agreements.settings.clock.now()
        if self._listed is not None and now < self._listed + _PAUSE:
            return
        self._listed = now
        session = yield from agreements.current()
        url, cursor = agreements.catalog.endpoints["uim-mcp"], None
        for _ in range(_MAX_PAGES):
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": cursor} if cursor else {}}
            headers = {
                "Authorization": f"Bearer {session.token}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            every = url + ("&" if urlsplit(url).query else "?") + "tools=all"
            answer: Answer = yield from agreements.exchange(Exchange("POST", every, headers, json.dumps(message).encode(), _MAX_BODY))
            result = _member(_json(answer.body), "result")
            for tool in result.get("tools", []) if isinstance(result.get("tools"), list) else []:
                about = next((v for k, v in _member(tool, "_meta").items() if k.endswith("/intent")), None)
                uid = about.get("uid") if isinstance(about, dict) else None
                if isinstance(uid, str) and isinstance(tool.get("name"), str):
                    self._tools[tool["name"]] = uid
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                return


def _plain(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def _subject(uid: object, parameters: object) -> Subject | None:
    if not isinstance(uid, str) or not (parameters is None or isinstance(parameters, dict)):
        return None
    return Subject(uid, parameters or {})


def _message(tree: dict[str, Any]) -> Subject | None:
    params = tree.get("params")
    message = _member(params if isinstance(params, dict) else tree, "message")
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else []:
        data = part.get("data") if isinstance(part, dict) else None
        if data is None and isinstance(part, dict) and isinstance(part.get("text"), str):
            data = _json(part["text"])  # the gateway executes a text part that is the JSON of a call
        if isinstance(data, dict) and "intent_uid" in data:
            return _subject(data["intent_uid"], data.get("parameters"))
    return None


def _json(text: bytes | str) -> Any:
    try:
        return decode(text, exact=isinstance(text, str))
    except JsonError:
        return None


def _member(value: object, name: str) -> dict[str, Any]:
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def account_of(status: int, headers: httpx.Headers, body: bytes | None) -> tuple[Charge | None, UimError | None]:
    """Returns the charge and the error in a response of any of the protocols, as far as it states them. body is None if it was not read."""
    charge = parse_charge(headers.get("UIM-Charge", ""))
    tree = _json(body) if body else None
    found = _find(tree, 0)
    if charge is None and isinstance(found.get("UIM-Charge"), str):
        charge = parse_charge(found["UIM-Charge"])
    error: RefusalError | None = None
    if "details" in found:
        refusal = read_refusal(Answer(status, httpx.Headers({"Content-Type": "application/json"}), json.dumps({"error": found}).encode()))
        charge = charge or refusal.charge
        refusal.status = refusal.status if refusal.status >= 400 else 0
        error = refusal_error(refusal)
    elif status >= 400:
        error = refusal_error(read_refusal(Answer(status, headers, body or b"")))
    return charge or charge_of(found.get("charge")), error


def _find(value: object, depth: int) -> dict[str, Any]:
    """Finds the error of a refusal, or the object with the charge."""
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(value, str) and value.startswith("{") and '"details"' in value:
        return _find(_json(value), depth + 1)
    if isinstance(value, dict):
        if isinstance(value.get("details"), dict) and isinstance(value["details"].get("reason"), str):
            return value
        if isinstance(value.get("UIM-Charge"), str):
            return value
    for item in value.values() if isinstance(value, dict) else value[:64] if isinstance(value, list) else []:
        if isinstance(item, (dict, list, str)):
            found = _find(item, depth + 1)
            if found:
                return found
    return {}

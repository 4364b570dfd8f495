#!/usr/bin/env python3
"""An MCP server on stdio that asks for a confirmation through Postern, without an MCP SDK and without @postern/mcp.

Serves clients of MCP 2026-07-28 and 2025-11-25, with and without URL mode. Needs httpx (Debian: python3-httpx).
docs/without-our-library.md explains each step.

Environment: POSTERN_URL, POSTERN_API_KEY, and the user who runs this process: POSTERN_ISSUER, POSTERN_SUBJECT. A server
for several users takes the subject from each verified MCP access token instead.
"""
import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import threading
import time

import httpx

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
# Codes after which this elicitation has no result for this server.
LOST = {"not_found", "not_redeemable", "already_redeemed"}
TERMINAL = {"completed", "declined", "cancelled", "expired", "failed"}
# Below the usual timeout of MCP clients, 60 seconds.
HOLD_SECONDS = int(os.environ.get("HOLD_SECONDS", "45"))
# Below the round limit of MCP clients, 10.
MAX_ROUNDS = 6
STATE_SECONDS = 600
SERVER_INFO = {"name": "attic", "version": "1.0.0"}
REPOSITORY = re.compile(r"[a-z0-9-]{1,40}/[a-z0-9-]{1,40}")
TOOL = {
    "name": "delete_repository",
    "description": "Deletes a repository after the user has confirmed it.",
    "inputSchema": {
        "type": "object",
        "properties": {"repository": {"type": "string", "pattern": f"^{REPOSITORY.pattern}$"}},
        "required": ["repository"],
        "additionalProperties": False,
    },
}

subject = {"issuer": os.environ["POSTERN_ISSUER"], "subject": os.environ["POSTERN_SUBJECT"]}
# Redirects are not followed: the API key belongs to this origin only.
http = httpx.Client(
    base_url=os.environ["POSTERN_URL"],
    headers={"authorization": f"Bearer {os.environ['POSTERN_API_KEY']}"},
    follow_redirects=False,
)
# Several processes share one key, from their configuration.
state_key = secrets.token_bytes(32)


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Refused(Exception):
    """The gateway refused a call. `code` is stable."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


# --- The gateway -----------------------------------------------------------------------------------------------------


def gateway(method, path, body=None, key=None, wait=0):
    """Calls the gateway. A POST has an Idempotency-Key, so that a retry after a lost response has no second effect."""
    headers = {} if key is None else {"idempotency-key": key}
    for attempt in range(1, 4):
        try:
            timeout = httpx.Timeout(10, read=10 + wait)
            response = http.request(method, path, json=body, headers=headers, timeout=timeout)
        except httpx.TransportError:
            if attempt == 3:
                raise
            time.sleep(0.2 * attempt)
            continue
        if response.status_code in (429, 503) and attempt < 3:
            pause = response.headers.get("retry-after", "")
            time.sleep(min(int(pause) if pause.isdigit() else 1, 5))
            continue
        if response.is_success:
            return response.json()
        is_problem = response.headers.get("content-type", "").startswith("application/problem+json")
        raise Refused(response.json()["code"] if is_problem else f"http_{response.status_code}")


def read(elicitation_id, wait=0):
    return gateway("GET", f"/v1/elicitations/{elicitation_id}?wait={wait}", wait=wait)


def terms_of(arguments):
    repository = arguments["repository"]
    return {
        "title": f'Delete the repository "{repository}"',
        "action": "Delete repository",
        "facts": [{"type": "text", "label": "Repository", "value": repository}],
        "danger": "destructive",
    }


# --- What this server remembers --------------------------------------------------------------------------------------
# A server with several processes keeps both in its database: `results` in the transaction of the effect.

lock = threading.Lock()
acting = threading.Lock()
# Digest of the arguments -> the ask that is open for them.
pending = {}
# Elicitation -> the result of the effect that it has approved.
results = {}


def digest_of(arguments):
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def ask_for(arguments):
    """The open ask for these arguments, or a new one. The key belongs to the redemption of this ask."""
    with lock:
        digest = digest_of(arguments)
        if digest not in pending:
            issued = gateway(
                "POST",
                "/v1/elicitations",
                key=secrets.token_urlsafe(16),
                body={
                    "kind": "confirmation",
                    "subject": subject,
                    "requestedBy": {"tool": TOOL["name"]},
                    "confirmation": terms_of(arguments),
                },
            )
            pending[digest] = {"id": issued["elicitationId"], "key": secrets.token_urlsafe(16)}
        return pending[digest]


def forget(ask, arguments):
    with lock:
        digest = digest_of(arguments)
        if pending.get(digest, {}).get("id") == ask["id"]:
            del pending[digest]


def delete_repository(arguments):
    """The effect. This example only counts."""
    return f"Deleted {arguments['repository']} (deletion {len(results) + 1} of this process)."


def finish(ask, arguments, elicitation):
    """Turns a terminal status into the result of the tool. Acts at most once on one elicitation."""
    if elicitation["status"] == "completed":
        with acting:
            if ask["id"] not in results:
                redeemed = gateway("POST", f"/v1/elicitations/{ask['id']}/redeem", body={}, key=ask["key"])
                assert_receipt_for(ask, arguments, redeemed["receipt"])
                results[ask["id"]] = delete_repository(arguments)
        return text(results[ask["id"]])
    if elicitation["status"] == "declined":
        return text("The user declined. Nothing was deleted.")
    return text(f"Nothing was deleted: the confirmation is {elicitation['status']}.", is_error=True)


def proceed(ask, arguments, wait=0):
    """Reads the elicitation. Returns it, and the result of the tool if it has ended."""
    try:
        elicitation = read(ask["id"], wait)
        result = finish(ask, arguments, elicitation) if elicitation["status"] in TERMINAL else None
    except Refused as refused:
        if refused.code in LOST:
            forget(ask, arguments)
        raise
    # Not after a lost response: the next call redeems with the same key.
    if result is not None:
        forget(ask, arguments)
    return elicitation, result


def assert_receipt_for(ask, arguments, receipt):
    """Compares what was approved with what is about to happen. To keep the receipt as evidence, verify its signature
    as well (docs/receipts.md)."""
    claims = json.loads(base64.urlsafe_b64decode(receipt.split(".")[1] + "=="))
    person = {"issuer": claims["sub_id"]["iss"], "subject": claims["sub_id"]["sub"]}
    if claims["jti"] != ask["id"] or person != subject or claims["terms"] != terms_of(arguments):
        raise ValueError("the receipt is for another request")


# --- MCP results -----------------------------------------------------------------------------------------------------


def text(content, is_error=False):
    return {"content": [{"type": "text", "text": content}], "isError": is_error}


def message_of(elicitation):
    return f"Please confirm the deletion. The page shows the code {elicitation['matchCode']}."


def plain(elicitation):
    """For clients that cannot open URLs, and before a client runs out of rounds."""
    return text(f"{message_of(elicitation)} Open {elicitation['url']} and confirm, then call the tool again.")


def checked(params):
    arguments = params.get("arguments")
    if params.get("name") != TOOL["name"]:
        raise RpcError(-32602, "Unknown tool")
    repository = arguments.get("repository") if isinstance(arguments, dict) and len(arguments) == 1 else None
    if not isinstance(repository, str) or REPOSITORY.fullmatch(repository) is None:
        raise RpcError(-32602, "Invalid arguments")
    return arguments


# --- Revision 2026-07-28 ---------------------------------------------------------------------------------------------


def sign_state(ask, arguments, rounds):
    state = {
        **ask,
        "subject": subject,
        "tool": TOOL["name"],
        "arguments": digest_of(arguments),
        "rounds": rounds,
        "expires": int(time.time()) + STATE_SECONDS,
    }
    body = base64.urlsafe_b64encode(json.dumps(state).encode()).decode()
    return f"{body}.{hmac.new(state_key, body.encode(), hashlib.sha256).hexdigest()}"


def open_state(value, arguments):
    """A requestState comes from the client: nothing in it is true before all of these checks."""
    body, _, signature = value.rpartition(".") if isinstance(value, str) and value.isascii() else ("", "", "")
    expected = hmac.new(state_key, body.encode(), hashlib.sha256).hexdigest()
    state = json.loads(base64.urlsafe_b64decode(body)) if hmac.compare_digest(signature, expected) else None
    if (
        state is None
        or state["expires"] < time.time()
        or state["subject"] != subject
        or state["tool"] != TOOL["name"]
        or state["arguments"] != digest_of(arguments)
    ):
        raise RpcError(-32602, "Invalid or expired requestState")
    return {"id": state["id"], "key": state["key"]}, state["rounds"]


def call_modern(params, can_open_urls):
    arguments = checked(params)
    if "requestState" in params:
        ask, rounds = open_state(params["requestState"], arguments)
    else:
        ask, rounds = ask_for(arguments), 0
    # `accept` of the client says that the user wants to open the URL, not that they have confirmed.
    action = ((params.get("inputResponses") or {}).get("confirmation") or {}).get("action", "accept")
    elicitation, ended = proceed(ask, arguments, HOLD_SECONDS if rounds > 0 and action == "accept" else 0)
    if ended is not None:
        return ended
    if action != "accept":
        return text("The user did not open the page. Nothing was deleted.")
    if not can_open_urls or rounds >= MAX_ROUNDS:
        return plain(elicitation)
    result = {"resultType": "input_required", "requestState": sign_state(ask, arguments, rounds + 1)}
    # Later rounds carry only the state: the user has the page open, and is not asked again.
    if rounds == 0:
        url_mode = {"mode": "url", "url": elicitation["url"], "message": message_of(elicitation)}
        result["inputRequests"] = {"confirmation": {"method": "elicitation/create", "params": url_mode}}
    return result


def modern(method, params, meta):
    if meta[META + "protocolVersion"] != MODERN:
        requested = meta[META + "protocolVersion"]
        raise RpcError(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": requested})
    if method == "tools/call":
        result = call_modern(params, declares_url(meta.get(META + "clientCapabilities")))
    elif method == "server/discover":
        result = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        result = {"tools": [TOOL], "ttlMs": 0, "cacheScope": "private"}
    else:
        raise RpcError(-32601, "Method not found")
    return {"resultType": "complete", **result, "_meta": {META + "serverInfo": SERVER_INFO}}


# --- Revision 2025-11-25 ---------------------------------------------------------------------------------------------

legacy_capabilities = {}
watched = set()


def call_legacy(params):
    arguments = checked(params)
    ask = ask_for(arguments)
    elicitation, ended = proceed(ask, arguments)
    if ended is not None:
        return ended
    if not declares_url(legacy_capabilities):
        return plain(elicitation)
    watch(ask["id"])
    url_mode = {"mode": "url", "elicitationId": ask["id"], "url": elicitation["url"], "message": message_of(elicitation)}
    raise RpcError(-32042, "The user has to confirm first", {"elicitations": [url_mode]})


def watch(elicitation_id):
    """Notifies the client of every terminal status: some clients wait for the notice without a limit."""
    with lock:
        if elicitation_id in watched:
            return
        watched.add(elicitation_id)

    def wait():
        while True:
            try:
                if read(elicitation_id, 55)["status"] in TERMINAL:
                    break
            except Refused as refused:
                if refused.code == "not_found":
                    break
                time.sleep(5)
            except httpx.HTTPError:
                time.sleep(5)
        send({"method": "notifications/elicitation/complete", "params": {"elicitationId": elicitation_id}})

    threading.Thread(target=wait, daemon=True).start()


def legacy(method, params):
    if method == "initialize":
        legacy_capabilities.update(params.get("capabilities") or {})
        return {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return call_legacy(params)
    raise RpcError(-32601, "Method not found")


# --- JSON-RPC on stdio -----------------------------------------------------------------------------------------------

writing = threading.Lock()


def declares_url(capabilities):
    """An empty `elicitation` declares form mode only."""
    return "url" in ((capabilities or {}).get("elicitation") or {})


def send(message):
    with writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(message):
    params = message.get("params") or {}
    meta = params.get("_meta") or {}
    meta = meta if isinstance(meta, dict) else {}
    is_modern = META + "protocolVersion" in meta
    try:
        result = modern(message["method"], params, meta) if is_modern else legacy(message["method"], params)
        send({"id": message["id"], "result": result})
    except RpcError as error:
        send({"id": message["id"], "error": error.error})
    except Refused as refused:
        complete = {"resultType": "complete"} if is_modern else {}
        send({"id": message["id"], "result": {**complete, **text(f"Postern refused: {refused.code}", is_error=True)}})
    except Exception as error:  # Its text may hold what a response held.
        print(f"unexpected {type(error).__name__}", file=sys.stderr, flush=True)
        send({"id": message["id"], "error": {"code": -32603, "message": "Internal error"}})


def main():
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):  # Deeply nested brackets end in the latter.
            send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
            continue
        if not isinstance(message, dict) or not isinstance(message.get("params", {}), dict):
            send({"id": None, "error": {"code": -32600, "message": "Invalid request"}})
        elif "id" in message and "method" in message:
            # A held call must not keep others waiting.
            if message["method"] == "tools/call":
                threading.Thread(target=answer, args=(message,), daemon=True).start()
            else:
                answer(message)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""An Airbyte source: the service's results in the messages that Airbyte, PyAirbyte and other readers of its protocol take.

    python3 source.py spec
    python3 source.py check --config config.json
    python3 source.py discover --config config.json
    python3 source.py read --config config.json --catalog catalog.json [--state state.json]

config.json: {"api": "https://…/api/v1", "access_key_id": "…", "secret_access_key": "…"}

Incremental reads send what has changed since the state; withdrawn results carry _ab_cdc_deleted_at, by which a destination that
dedupes deletes them. A full refresh sends everything there is. Python's standard library is all it needs.
"""
import argparse
import http.client
import json
import random
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

STREAM = "assessments"
ATTEMPTS = 8
RESTORES = 3

SPEC = {
    "documentationUrl": "https://github.com/airbytehq/airbyte-protocol",
    "connectionSpecification": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Assessment Results Service",
        "type": "object",
        "required": ["api", "access_key_id", "secret_access_key"],
        "properties": {
            "api": {"type": "string", "title": "Address of the API", "examples": ["https://results.example.org/api/v1"]},
            "access_key_id": {"type": "string", "title": "Access key id"},
            "secret_access_key": {"type": "string", "title": "Secret access key", "airbyte_secret": True},
        },
    },
}


def nullable(kind, **more):
    return {"type": ["null", kind], **more}


DATE_TIME = {"format": "date-time", "airbyte_type": "timestamp_with_timezone"}

# What a destination makes columns from. New fields may come at any time: destinations keep what they know.
SCHEMA = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "assessment_id": {"type": "string"},
        "updated_at": {"type": "string", **DATE_TIME},
        "status": nullable("string"),
        "learner": nullable("object"),
        "assessed_at": nullable("string", **DATE_TIME),
        "subject": nullable("string"),
        "framework": nullable("string"),
        "rqf_level": nullable("string"),
        "rqf_level_code": nullable("integer"),
        "below_level_1": nullable("boolean"),
        "working_level": nullable("string"),
        "recommended_next_level": nullable("string"),
        "level_probabilities": nullable("object"),
        "is_borderline": nullable("boolean"),
        "needs_review": nullable("boolean"),
        "reviewed_at": nullable("string", **DATE_TIME),
        "domains": nullable("array", items={"type": "object"}),
        "evidence_pack_url": nullable("string"),
        "report_sha256": nullable("string"),
        "groups": nullable("array", items={"type": "object"}),
        "_ab_cdc_deleted_at": nullable("string", **DATE_TIME),
    },
}

CATALOG = {
    "streams": [
        {
            "name": STREAM,
            "json_schema": SCHEMA,
            "supported_sync_modes": ["full_refresh", "incremental"],
            "source_defined_cursor": True,
            "default_cursor_field": ["updated_at"],
            "source_defined_primary_key": [["assessment_id"]],
        }
    ]
}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key pair must not follow a redirect to wherever it leads."""

    def redirect_request(self, *_):
        return None


class Refused(Exception):
    """The service says no: asking again would end alike."""


class PlaceLost(Exception):
    """A backup came back at the service: what arose after it is gone there without a tombstone."""


def went_back(headers, start):
    """Whether the service was restored to before the instant that a walk, or the stored state, began with."""
    restored, through = headers["X-Sync-Restored"] or "", headers["X-Sync-Through"] or start
    return start is not None and (restored > start or through < start)


def get(config, path, etag=None):
    """A reply's body and headers; (None, headers) for 304. Repeats what may pass, never before Retry-After is over."""
    headers = {"X-Access-Key-Id": config["access_key_id"], "X-Secret-Access-Key": config["secret_access_key"]}
    if etag:
        headers["If-None-Match"] = etag
    opener = urllib.request.build_opener(NoRedirect)
    for attempt in range(ATTEMPTS):
        wait = min(20, 2**attempt / 2) * random.uniform(0.5, 1)
        try:
            request = urllib.request.Request(f"{config['api'].rstrip('/')}{path}", headers=headers)
            with opener.open(request, timeout=30) as reply:
                return json.load(reply), reply.headers
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return None, error.headers
            body = error.read().decode("utf-8", "replace")
            if '"invalid_cursor"' in body or '"invalid_since"' in body:
                raise PlaceLost from None
            if error.code not in (429, 500, 502, 503, 504):
                raise Refused(f"refused: {error.code} {body} (request {error.headers.get('X-Request-Id')})") from None
            told = error.headers.get("Retry-After") or ""
            wait = max(wait, float(told) if told.isdecimal() else 0)
        except (OSError, ValueError, http.client.HTTPException):
            pass  # The connection ended, or the reply was cut off.
        time.sleep(wait)
    raise OSError("the service does not answer")


def write(kind, out=sys.stdout, **message):
    out.write(json.dumps({"type": kind, **message}, ensure_ascii=False) + "\n")


def now_ms():
    return int(time.time() * 1000)


def status(what):
    descriptor = {"stream_descriptor": {"name": STREAM}, "status": what}
    write("TRACE", trace={"type": "STREAM_STATUS", "emitted_at": now_ms(), "stream_status": descriptor})


def failed(message, kind):
    error = {"message": message, "failure_type": kind, "stream_descriptor": {"name": STREAM}}
    write("TRACE", trace={"type": "ERROR", "emitted_at": now_ms(), "error": error})
    sys.exit(1)


def read(config, state):
    """Sends a walk, and gives the state for the next one: everything where there is none yet."""
    for _ in range(RESTORES + 1):
        try:
            # No record of a walk goes out before its last page is in: a destination could not take it back.
            with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
                after = walk(config, state, spool)
                spool.seek(0)
                shutil.copyfileobj(spool, sys.stdout)
                return after
        except PlaceLost:
            if state:
                raise
    raise OSError("the service was restored from a backup again and again")


def walk(config, state, spool):
    search = {"limit": 500, **({"since": state["since"]} if state else {})}
    page, headers = get(config, "/assessments?" + urllib.parse.urlencode(search), state.get("etag"))
    if went_back(headers, state.get("since")):
        raise PlaceLost
    if page is None:
        write("LOG", log={"level": "INFO", "message": "nothing has changed"})
        return state
    # Of the first page: what changes while the walk is on its way comes with the next one.
    after = {"since": headers["X-Sync-Through"], "etag": headers["ETag"]}
    while True:
        for entry in page["data"]:
            if entry.get("status") != "completed":
                gone = entry["updated_at"]
                entry = {"assessment_id": entry["assessment_id"], "updated_at": gone, "_ab_cdc_deleted_at": gone}
            write("RECORD", spool, record={"stream": STREAM, "data": entry, "emitted_at": now_ms()})
        following = page["pagination"]["next"]
        if following is None:
            return after
        # Only the query is taken, so that the key pair never goes to another host.
        page, headers = get(config, "/assessments?" + urllib.parse.urlsplit(following).query)
        if went_back(headers, after["since"]):
            raise PlaceLost


def stored(messages):
    """The stream's state, in whichever of the protocol's forms the platform gives it back."""
    for message in messages if isinstance(messages, list) else [messages]:
        message = message.get("state", message)
        stream = message.get("stream") or {}
        if stream.get("stream_descriptor", {}).get("name") == STREAM:
            return stream.get("stream_state") or {}
    return {}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command", choices=["spec", "check", "discover", "read"])
    for name in ("--config", "--catalog", "--state"):
        arguments.add_argument(name)
    given = arguments.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    if given.command == "spec":
        return write("SPEC", spec=SPEC)
    if given.command == "discover":
        return write("CATALOG", catalog=CATALOG)
    config = load(given.config)
    if given.command == "check":
        try:
            get(config, "/health")
        except (OSError, Refused) as error:
            return write("CONNECTION_STATUS", connectionStatus={"status": "FAILED", "message": str(error)})
        return write("CONNECTION_STATUS", connectionStatus={"status": "SUCCEEDED"})
    wanted = [one for one in load(given.catalog)["streams"] if one["stream"]["name"] == STREAM]
    if not wanted:
        return None
    state = stored(load(given.state)) if given.state and wanted[0]["sync_mode"] == "incremental" else {}
    status("STARTED")
    try:
        state = read(config, state)
    except PlaceLost:
        failed("a backup came back at the service: refresh this stream, and remove what the refresh does not show", "config_error")
    except Refused as error:
        failed(str(error), "config_error")
    except OSError as error:
        failed(str(error), "transient_error")
    # Last, once the whole walk is out: a destination stores it with the records before it.
    stream = {"stream_descriptor": {"name": STREAM}, "stream_state": state}
    write("STATE", state={"type": "STREAM", "stream": stream})
    status("COMPLETE")


main()

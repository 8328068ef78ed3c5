#!/usr/bin/env python3
"""A Singer tap: writes the service's results to standard output as the messages that targets of Singer and Meltano read.

    python3 tap.py --config config.json [--state state.json] | target-of-yours > states.jsonl

config.json: {"api": "https://…/api/v1", "access_key_id": "…", "secret_access_key": "…", "sweep": false}

With the state of the run before it sends what has changed since, withdrawn results as records with _sdc_deleted_at. Without,
or with "sweep": true, it sends everything, and ends with ACTIVATE_VERSION: the target then drops whatever was not sent. The
state comes last, once the whole walk is out. Python's standard library is all it needs.
"""
import argparse
import http.client
import json
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

STREAM = "assessments"
ATTEMPTS = 8
RESTORES = 3


def nullable(kind, **more):
    return {"type": ["null", kind], **more}


# What a target makes columns from. New fields may come at any time: targets keep what they know.
SCHEMA = {
    "type": "object",
    "properties": {
        "assessment_id": {"type": "string"},
        "updated_at": {"type": "string", "format": "date-time"},
        "status": nullable("string"),
        "learner": nullable("object"),
        "assessed_at": nullable("string", format="date-time"),
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
        "reviewed_at": nullable("string", format="date-time"),
        "domains": nullable("array", items={"type": "object"}),
        "evidence_pack_url": nullable("string"),
        "report_sha256": nullable("string"),
        "groups": nullable("array", items={"type": "object"}),
        "_sdc_deleted_at": nullable("string", format="date-time"),
    },
}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key pair must not follow a redirect to wherever it leads."""

    def redirect_request(self, *_):
        return None


class Restored(Exception):
    """The service was restored from a backup: everything is sent again, and what is not sent again is gone."""


def went_back(headers, start):
    """Whether the service was restored to before the instant that a walk, or the stored state, began with."""
    restored, through = headers["X-Sync-Restored"] or "", headers["X-Sync-Through"] or start
    return start is not None and (restored > start or through < start)


def get(config, search, etag=None):
    """A page and its headers; (None, headers) for 304. Repeats what may pass, never before Retry-After is over."""
    headers = {"X-Access-Key-Id": config["access_key_id"], "X-Secret-Access-Key": config["secret_access_key"]}
    if etag:
        headers["If-None-Match"] = etag
    opener = urllib.request.build_opener(NoRedirect)
    for attempt in range(ATTEMPTS):
        wait = min(20, 2**attempt / 2) * random.uniform(0.5, 1)
        try:
            request = urllib.request.Request(f"{config['api'].rstrip('/')}/assessments{search}", headers=headers)
            with opener.open(request, timeout=30) as reply:
                return json.load(reply), reply.headers
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return None, error.headers
            body = error.read().decode("utf-8", "replace")
            if '"invalid_cursor"' in body:
                raise Restored from None
            if error.code not in (429, 500, 502, 503, 504):
                sys.exit(f"refused: {error.code} {body} (request {error.headers.get('X-Request-Id')})")
            told = error.headers.get("Retry-After") or ""
            wait = max(wait, float(told) if told.isdecimal() else 0)  # A proxy may say it as a date.
        except (OSError, ValueError, http.client.HTTPException):
            pass  # The connection ended, or the reply was cut off.
        time.sleep(wait)
    sys.exit("the service does not answer; the next run goes on from the state before")


def write(message):
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")


def walk(config, bookmark, is_sweep):
    """Sends a walk. What is new or amended comes as it is, what is gone with the time at which it went."""
    version = bookmark.get("version", 0)
    if is_sweep:
        # By the clock, so that it is a newer one than what the target holds, though the state was lost.
        version = max(version + 1, int(time.time() * 1000))
    start = None if is_sweep else bookmark["since"]
    search = {"limit": 500, **({"since": start} if start else {})}
    page, headers = get(config, "?" + urllib.parse.urlencode(search), None if is_sweep else bookmark["etag"])
    if went_back(headers, start):
        raise Restored
    if page is None:
        return bookmark
    # Of the first page: what changes while the walk is on its way comes with the next one.
    after = {"since": headers["X-Sync-Through"], "etag": headers["ETag"], "version": version}
    while True:
        for entry in page["data"]:
            if entry.get("status") != "completed":
                gone = entry["updated_at"]
                entry = {"assessment_id": entry["assessment_id"], "updated_at": gone, "_sdc_deleted_at": gone}
            write({"type": "RECORD", "stream": STREAM, "record": entry, "version": version})
        following = page["pagination"]["next"]
        if following is None:
            break
        # Only the query is taken, so that the key pair never goes to another host.
        page, headers = get(config, "?" + urllib.parse.urlsplit(following).query)
        if went_back(headers, after["since"]):
            raise Restored
    if is_sweep:
        write({"type": "ACTIVATE_VERSION", "stream": STREAM, "version": version})
    # What the target must hold now. A target that counts can compare.
    return {**after, "digest": headers["X-Sync-Digest"]}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--config", required=True)
    arguments.add_argument("--state")
    arguments.add_argument("--discover", action="store_true")
    given = arguments.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    stream = {"stream": STREAM, "schema": SCHEMA, "key_properties": ["assessment_id"]}
    if given.discover:
        return write({"streams": [{**stream, "tap_stream_id": STREAM}]})
    with open(given.config, encoding="utf-8") as file:
        config = json.load(file)
    bookmark = {}
    if given.state:
        with open(given.state, encoding="utf-8") as file:
            bookmark = json.load(file).get("bookmarks", {}).get(STREAM, {})
    write({"type": "SCHEMA", **stream, "bookmark_properties": ["updated_at"]})
    is_sweep = config.get("sweep", False) or "since" not in bookmark
    for attempt in range(RESTORES + 1):
        try:
            # Each sweep has a newer version, so the target drops what a broken one has sent.
            bookmark = walk(config, {**bookmark, "version": bookmark.get("version", 0) + attempt}, is_sweep)
            break
        except Restored:
            is_sweep = True
    else:
        sys.exit("the service was restored from a backup again and again; the next run goes on from the state before")
    write({"type": "STATE", "value": {"bookmarks": {STREAM: bookmark}}})


main()

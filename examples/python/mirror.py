#!/usr/bin/env python3
"""Keeps the service's results in an SQLite file, with Python's standard library alone.

    API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… python3 mirror.py results.sqlite

Run it once a minute. Changes and checkpoint are one transaction of the file, so it may be killed at any time. Where the
service sends its digest, the file is compared with it.
"""
import hashlib
import http.client
import json
import os
import random
import sqlite3
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime

API = os.environ["API"].rstrip("/")
KEYS = {
    "X-Access-Key-Id": os.environ["ACCESS_KEY_ID"],
    "X-Secret-Access-Key": os.environ["SECRET_ACCESS_KEY"],
}
ATTEMPTS = 8
RESTORES = 3


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key pair must not follow a redirect to wherever it leads."""

    def redirect_request(self, *_):
        return None


class Restored(Exception):
    """The service was restored from a backup: the walk starts again without since, and replaces what is held."""


def went_back(headers, start):
    """Whether the service was restored to before the instant that a walk, or its checkpoint, began with."""
    restored, through = headers["X-Sync-Restored"] or "", headers["X-Sync-Through"] or start
    return start is not None and (restored > start or through < start)


opener = urllib.request.build_opener(NoRedirect)


def get(search, etag=None):
    """A page and its headers; (None, headers) for 304. Repeats what may pass, never before Retry-After is over."""
    headers = {**KEYS, **({"If-None-Match": etag} if etag else {})}
    for attempt in range(ATTEMPTS):
        wait = min(20, 2**attempt / 2) * random.uniform(0.5, 1)
        try:
            with opener.open(urllib.request.Request(f"{API}/assessments{search}", headers=headers), timeout=30) as reply:
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
    sys.exit("the service does not answer; nothing is lost, the next run goes on")


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def digest(rows):
    """How many results there are, and the sums of two words of SHA-256(id, updated_at in milliseconds)."""
    count, one, two = 0, 0, 0
    for identity, updated_at in rows:
        at = instant(updated_at)
        ms = int(at.replace(microsecond=0).timestamp()) * 1000 + at.microsecond // 1000
        hashed = hashlib.sha256(bytes.fromhex(identity.replace("-", "")) + ms.to_bytes(8, "big")).digest()
        count, one, two = count + 1, one + int.from_bytes(hashed[:4], "big"), two + int.from_bytes(hashed[4:8], "big")
    return f"n={count};w1={one % 2**32};w2={two % 2**32}"


def walk(database, since, etag):
    """Reads a walk to its end and stores it as one transaction; false where nothing has changed."""
    search = "?" + urllib.parse.urlencode({"limit": 500, **({"since": since} if since else {})})
    page, headers = get(search, etag)
    if went_back(headers, since):
        raise Restored
    if page is None:
        return False
    checkpoint = headers["X-Sync-Through"], headers["ETag"]
    with database:
        if since is None:
            # A walk through everything replaces what was held, once it is in: the transaction ends with it.
            database.execute("delete from result")
        while True:
            for entry in page["data"]:
                if entry.get("status") == "completed":
                    values = entry["assessment_id"], entry["updated_at"], json.dumps(entry, ensure_ascii=False)
                    database.execute("insert or replace into result values (?, ?, ?)", values)
                else:
                    database.execute("delete from result where assessment_id = ?", (entry["assessment_id"],))
            following = page["pagination"]["next"]
            if following is None:
                break
            # Only the query is taken, so that the key pair never goes to another host.
            page, headers = get("?" + urllib.parse.urlsplit(following).query)
            if went_back(headers, checkpoint[0]):
                raise Restored
        database.execute("insert or replace into checkpoint values (1, ?, ?)", checkpoint)
    served = headers.get("X-Sync-Digest")
    if served is None:
        return True
    if served == digest(database.execute("select assessment_id, updated_at from result")):
        print("the service's digest is this file's")
    elif since is not None:
        walk(database, None, None)
    return True


def main():
    database = sqlite3.connect(sys.argv[1] if len(sys.argv) > 1 else "results.sqlite")
    database.execute("create table if not exists result (assessment_id text primary key, updated_at text, record text)")
    database.execute("create table if not exists checkpoint (only_one integer primary key, since text, etag text)")
    since, etag = database.execute("select since, etag from checkpoint").fetchone() or (None, None)
    for _ in range(RESTORES + 1):
        try:
            changed = walk(database, since, etag)
            break
        except Restored:
            since, etag = None, None  # The file is as it was: a walk is one transaction.
    else:
        sys.exit("the service was restored from a backup again and again; try again when that is over")
    (count,) = database.execute("select count(*) from result").fetchone()
    print(f"{count} results" if changed else f"{count} results, nothing has changed")


main()

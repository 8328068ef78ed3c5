# Brings a file up to date with the service's results. Run it once a minute; without the file it starts from the beginning.
#   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… python3 sync.py results.json
import json, os, sys
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener


class Stay(HTTPRedirectHandler):
    redirect_request = lambda *_: None  # The access key must not follow a redirect to another host.


urlopen = build_opener(Stay).open

file = sys.argv[1] if len(sys.argv) > 1 else "results.json"
keys = {"X-Access-Key-Id": os.environ["ACCESS_KEY_ID"], "X-Secret-Access-Key": os.environ["SECRET_ACCESS_KEY"]}
state = json.load(open(file)) if os.path.exists(file) else {"since": None, "etag": '""', "results": {}}

url = os.environ["API"] + "/assessments?limit=500" + (f"&since={state['since']}" if state["since"] else "")
walk, restores = {}, 0
while url:
    # An ETag is valid for the first page only.
    request = Request(url, headers={**keys, "If-None-Match": '""' if walk else state["etag"]})
    try:
        try:
            reply = urlopen(request, timeout=30)
        except HTTPError as error:
            reply = error
        body = reply.read().decode()
    except (OSError, HTTPException):
        sys.exit("The connection ended. Nothing was stored. Run the program again.")
    start = walk.get("since") or state["since"] or ""
    restored = start and (reply.headers["X-Sync-Restored"] or "") > start
    went_back = (reply.headers["X-Sync-Through"] or start) < start
    if restored or went_back or (reply.status == 400 and '"invalid_cursor"' in body):
        # The service was restored from a backup: start again without since. What the new walk does not show is gone.
        restores += 1
        if restores > 3:
            sys.exit("The service was restored again and again. Try again later.")
        state.update(since=None, etag='""', results={})
        walk, url = {}, os.environ["API"] + "/assessments?limit=500"
        continue
    if reply.status == 304:
        break
    if reply.status != 200:
        sys.exit(body or f"The status is {reply.status}.")
    walk = walk or {"since": reply.headers["X-Sync-Through"], "etag": reply.headers["ETag"]}
    page = json.loads(body)
    for record in page["data"]:
        if record.get("status") == "completed":
            state["results"][record["assessment_id"]] = record
        else:
            state["results"].pop(record["assessment_id"], None)
    url = page["pagination"]["next"]
state.update(walk)

with open(file + ".new", "w") as out:
    json.dump(state, out)
os.replace(file + ".new", file)
print(len(state["results"]), "results,", f"in step through {state['since']}" if walk else "nothing has changed")

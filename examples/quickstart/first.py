# Prints the level and the learner reference of 10 results.
#   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… python3 first.py
import json, os, sys
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

api = urlsplit(os.environ["API"])
keys = {"X-Access-Key-Id": os.environ["ACCESS_KEY_ID"], "X-Secret-Access-Key": os.environ["SECRET_ACCESS_KEY"]}
connection = (HTTPSConnection if api.scheme == "https" else HTTPConnection)(api.netloc, timeout=30)
connection.request("GET", api.path + "/assessments?limit=10&status=completed", headers=keys)
response = connection.getresponse()
body = response.read().decode()
if response.status != 200:
    sys.exit(body)

for result in json.loads(body)["data"]:
    print(result["rqf_level"] or "-", result["learner"]["ref"] or "-")

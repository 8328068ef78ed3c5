# Prints the digest of the results in a file of sync.py. It equals X-Sync-Digest if the file is complete.
#   python3 digest.py results.json
import hashlib, json, sys
from datetime import datetime, timedelta, timezone

epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
n = w1 = w2 = 0
for result in json.load(open(sys.argv[1]))["results"].values():
    time = datetime.fromisoformat(result["updated_at"].replace("Z", "+00:00"))
    milliseconds = (time - epoch) // timedelta(milliseconds=1)
    assessment_id = bytes.fromhex(result["assessment_id"].replace("-", ""))
    hashed = hashlib.sha256(assessment_id + milliseconds.to_bytes(8, "big")).digest()
    n += 1
    w1 = (w1 + int.from_bytes(hashed[0:4], "big")) % 2**32
    w2 = (w2 + int.from_bytes(hashed[4:8], "big")) % 2**32
print(f"n={n};w1={w1};w2={w2}")

"""Reads lines of secret, header and body in base64 and the time, and prints a verdict for each."""
import sys
from base64 import b64decode
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4] / "examples/webhooks/python"))
sys.dont_write_bytecode = True
from verify import verify_webhook  # noqa: E402

for line in sys.stdin:
    secret, header, body, now = line.rstrip("\n").split("\t")
    print(verify_webhook(b64decode(secret).decode(), b64decode(header).decode(), b64decode(body), int(now)))

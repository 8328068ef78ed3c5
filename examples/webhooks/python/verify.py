import hashlib
import hmac
import re


def verify_webhook(secret: str, header: str, body: bytes, now: int, tolerance_seconds: int = 300) -> str:
    """Judges one delivery; accept it only if the result is 'valid'.

    secret is the whole 'whsec_...' string, header the value of X-Svc-Signature-256,
    body the raw bytes as they arrived, now seconds since 1970.
    """
    times, signatures = [], []
    for part in header.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name:
            return "malformed_header"
        if name == "t":
            times.append(value)
        elif name == "v1":
            signatures.append(value)
    if len(times) != 1 or not signatures or not re.fullmatch(r"[0-9]{1,12}", times[0]):
        return "malformed_header"

    signed = times[0].encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    # While a secret is being rotated there are two signatures; one that matches is enough.
    # Anybody can sign with a secret that was never set.
    if not secret or not any([hmac.compare_digest(expected, given.encode()) for given in signatures]):
        return "no_matching_signature"

    age = now - int(times[0])
    if age > tolerance_seconds:
        return "timestamp_too_old"
    if age < -tolerance_seconds:
        return "timestamp_in_future"
    return "valid"

<?php

declare(strict_types=1);

/**
 * Judges one delivery; accept it only if the result is 'valid'. $secret is the whole whsec_… string, $header the value
 * of X-Svc-Signature-256, $body the raw bytes as they arrived (php://input), $now seconds since 1970.
 */
function verify_webhook(string $secret, string $header, string $body, int $now, int $toleranceSeconds = 300): string
{
    $times = [];
    $signatures = [];
    foreach (explode(',', $header) as $part) {
        $equals = strpos($part, '=');
        if ($equals === false || $equals === 0) {
            return 'malformed_header';
        }
        $name = substr($part, 0, $equals);
        if ($name === 't') {
            $times[] = substr($part, $equals + 1);
        } elseif ($name === 'v1') {
            $signatures[] = substr($part, $equals + 1);
        }
    }
    // The modifier D keeps $ from matching before a final line break.
    if (count($times) !== 1 || $signatures === [] || !preg_match('/^[0-9]{1,12}$/D', $times[0])) {
        return 'malformed_header';
    }

    $expected = hash_hmac('sha256', $times[0] . '.' . $body, $secret);
    $genuine = false;
    // While a secret is being rotated there are two signatures; one that matches is enough.
    foreach ($signatures as $given) {
        $genuine = hash_equals($expected, $given) || $genuine;
    }
    // Anybody can sign with a secret that was never set.
    if (!$genuine || $secret === '') {
        return 'no_matching_signature';
    }

    $age = $now - (int) $times[0];
    if ($age > $toleranceSeconds) {
        return 'timestamp_too_old';
    }
    if ($age < -$toleranceSeconds) {
        return 'timestamp_in_future';
    }
    return 'valid';
}

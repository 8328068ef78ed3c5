<?php
// Reads lines of secret, header and body in base64 and the time, and prints a verdict for each.
declare(strict_types=1);
require __DIR__ . '/../../../../examples/webhooks/php/verify.php';

while (($line = fgets(STDIN)) !== false) {
    [$secret, $header, $body, $now] = explode("\t", rtrim($line, "\n"));
    echo verify_webhook(base64_decode($secret), base64_decode($header), base64_decode($body), (int) $now), "\n";
}

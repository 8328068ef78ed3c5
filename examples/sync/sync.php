<?php

// Brings a file up to date with the service's results. Run it once a minute. Without the file it starts from the beginning.
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… php sync.php results.json

declare(strict_types=1);

/** Reads a URL. Returns the status, the headers by name in small letters, and the body. */
function get(string $url, string $etag): array
{
    $sent = [
        'X-Access-Key-Id: ' . getenv('ACCESS_KEY_ID'),
        'X-Secret-Access-Key: ' . getenv('SECRET_ACCESS_KEY'),
        "If-None-Match: $etag",
    ];
    // The access key must not follow a redirect to another host.
    $options = ['header' => $sent, 'follow_location' => 0, 'ignore_errors' => true, 'timeout' => 30];
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => $options]));
    if ($stream === false) {
        fail('The connection ended. Nothing was stored. Run the program again.');
    }
    $body = stream_get_contents($stream);
    $status = 0;
    $headers = [];
    foreach (stream_get_meta_data($stream)['wrapper_data'] as $line) {
        if (preg_match('~^HTTP/\S+ (\d+)~', $line, $found)) {
            $status = (int) $found[1];
        } elseif (str_contains($line, ':')) {
            [$name, $value] = explode(':', $line, 2);
            $headers[strtolower($name)] = trim($value);
        }
    }
    return [$status, $headers, $body];
}

function fail(string $message): never
{
    fwrite(STDERR, $message . "\n");
    exit(1);
}

$file = $argv[1] ?? 'results.json';
$state = ['since' => null, 'etag' => '""', 'results' => []];
if (is_file($file)) {
    $state = json_decode(file_get_contents($file), true, flags: JSON_THROW_ON_ERROR);
}

$all = getenv('API') . '/assessments?limit=500';
$url = $state['since'] === null ? $all : "$all&since={$state['since']}";
$checkpoint = null;
$restores = 0;
while ($url !== null) {
    // An ETag is valid for the first page only.
    [$status, $headers, $body] = get($url, $checkpoint === null ? $state['etag'] : '""');
    $start = $checkpoint['since'] ?? $state['since'] ?? '';
    $restored = $start !== '' && strcmp($headers['x-sync-restored'] ?? '', $start) > 0;
    $wentBack = strcmp($headers['x-sync-through'] ?? $start, $start) < 0;
    if ($restored || $wentBack || ($status === 400 && str_contains($body, '"invalid_cursor"'))) {
        // The service was restored from a backup. A full sync without since shows the results that still exist.
        if (++$restores > 3) {
            fail('The service was restored again and again. Try again later.');
        }
        $state = ['since' => null, 'etag' => '""', 'results' => []];
        [$url, $checkpoint] = [$all, null];
        continue;
    }
    if ($status === 304) {
        break;
    }
    if ($status !== 200) {
        fail($body);
    }
    $checkpoint ??= ['since' => $headers['x-sync-through'], 'etag' => $headers['etag']];
    $page = json_decode($body, true) ?? fail('The response is incomplete. Nothing was stored. Run the program again.');
    foreach ($page['data'] as $record) {
        if (($record['status'] ?? '') === 'completed') {
            $state['results'][$record['assessment_id']] = $record;
        } else {
            unset($state['results'][$record['assessment_id']]);
        }
    }
    $url = $page['pagination']['next'];
}
$state = [...$state, ...($checkpoint ?? [])];

$json = json_encode([...$state, 'results' => (object) $state['results']], JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
if (file_put_contents("$file.new", $json) !== strlen($json)) {
    fail("$file.new cannot be written.");
}
rename("$file.new", $file);
echo count($state['results']), ' results, ', $checkpoint === null ? 'nothing has changed' : "in step through {$state['since']}", "\n";

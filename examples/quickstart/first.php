<?php

// Prints the level and the learner reference of 10 results.
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… php first.php

declare(strict_types=1);

$keys = ['X-Access-Key-Id: ' . getenv('ACCESS_KEY_ID'), 'X-Secret-Access-Key: ' . getenv('SECRET_ACCESS_KEY')];
// The access key must not follow a redirect to another host.
$options = ['header' => $keys, 'follow_location' => 0, 'ignore_errors' => true, 'timeout' => 30];
$url = getenv('API') . '/assessments?limit=10&status=completed';
$body = file_get_contents($url, false, stream_context_create(['http' => $options]));
if ($body === false) {
    exit(1);
}
$page = json_decode($body, true);
if (!isset($page['data'])) {
    fwrite(STDERR, $body . "\n");
    exit(1);
}
foreach ($page['data'] as $result) {
    echo $result['rqf_level'] ?? '-', ' ', $result['learner']['ref'] ?? '-', "\n";
}

<?php

// Prints the digest of the results in a file of sync.php. It equals X-Sync-Digest if the file is complete.
//   php digest.php results.json

declare(strict_types=1);

[$n, $w1, $w2] = [0, 0, 0];
foreach (json_decode(file_get_contents($argv[1]), true, flags: JSON_THROW_ON_ERROR)['results'] as $result) {
    $milliseconds = (int) (new DateTimeImmutable($result['updated_at']))->format('Uv');
    $id = hex2bin(str_replace('-', '', $result['assessment_id']));
    $words = unpack('N2word', hash('sha256', $id . pack('J', $milliseconds), true));
    $n++;
    $w1 = ($w1 + $words['word1']) % 2 ** 32;
    $w2 = ($w2 + $words['word2']) % 2 ** 32;
}
echo "n=$n;w1=$w1;w2=$w2\n";

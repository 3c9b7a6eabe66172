<?php

// Verify the signature of an event. PHP 8, no dependencies.
//
// In a receiver, hand verify() the bytes of the body as they came, before anything parses them:
//
//   $header = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
//   if (verify(SECRET, $header, file_get_contents('php://input'), time()) !== null) {
//       http_response_code(401);
//       exit;
//   }
//
// then take each event_id once, and answer 2xx to a repeated one too.
//
// Run as a program it judges the vectors of a file: php verify_event.php ../signatures.json

const TOLERANCE = 300; // seconds, on either side of the receiver's clock
const HEADER = '/\At=(0|[1-9][0-9]{0,18}),v1=([0-9a-f]{64})\z/';

// verify returns null for a genuine event, or the reason to refuse it.
function verify(string $secret, string $header, string $body, int $now): ?string
{
    if (!preg_match(HEADER, $header, $parts)) {
        return 'malformed';
    }
    [, $timestamp, $signature] = $parts;
    $want = hash_hmac('sha256', "$timestamp.$body", $secret);
    // An empty secret is refused: anyone could compute an HMAC with it.
    // hash_equals takes the same time wherever two texts differ.
    if ($secret === '' || !hash_equals($want, $signature)) {
        return 'mismatch';
    }
    return abs($now - (int) $timestamp) > TOLERANCE ? 'too_old' : null;
}

if (realpath($argv[0] ?? '') === __FILE__) {
    $vectors = json_decode(file_get_contents($argv[1]), true, flags: JSON_THROW_ON_ERROR);
    $cases = array_map(fn ($v) => [$v, $v['timestamp'], null], $vectors['accepted']);
    array_push($cases, ...array_map(fn ($v) => [$v, $v['now'], $v['reason']], $vectors['refused']));
    $wrong = 0;
    foreach ($cases as [$v, $now, $want]) {
        $got = verify($v['secret'], $v['header'], $v['body'], $now);
        if ($got !== $want) {
            $wrong++;
            fwrite(STDERR, $v['name'] . ': ' . ($got ?? 'null') . ', want ' . ($want ?? 'null') . "\n");
        }
    }
    echo count($cases), " vectors, $wrong wrong\n";
    exit($wrong > 0 || $cases === [] ? 1 : 0);
}

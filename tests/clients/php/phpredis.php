<?php
// phpredis, the extension. It has no helpers for these commands. Argument: PORT.

$db = new Redis();
$db->connect('127.0.0.1', (int) $argv[1]);

function say($name, ...$values) {
    echo "$name: ", implode(' ', array_map(fn($value) => is_bool($value) ? (int) $value : $value, $values)), "\n";
}

say('version', phpversion('redis'));

// A status comes as true, until it is asked for as it is.
if ($db->rawCommand('BF.RESERVE', 'first', 0.01, 1000) === true) {
    say('mind', 'a-status-is-true');
}
$db->setOption(Redis::OPT_REPLY_LITERAL, true);

say('reserve', $db->rawCommand('BF.RESERVE', 'k', 0.01, 1000));
say('add', $db->rawCommand('BF.ADD', 'k', 'a'), $db->rawCommand('BF.ADD', 'k', 'a'));
say('madd', ...$db->rawCommand('BF.MADD', 'k', 'a', 'b', 'c'));
say('exists', $db->rawCommand('BF.EXISTS', 'k', 'a'), $db->rawCommand('BF.EXISTS', 'k', 'z'));
say('mexists', ...$db->rawCommand('BF.MEXISTS', 'k', 'a', 'z'));
say('insert', ...$db->rawCommand('BF.INSERT', 'i', 'CAPACITY', 1000, 'ERROR', 0.01, 'ITEMS', 'x', 'y'));
say('card', $db->rawCommand('BF.CARD', 'k'));

// Names and values take turns.
function fields($reply) {
    return array_column(array_chunk($reply, 2), 1, 0);
}
say('capacity', fields($db->rawCommand('BF.INFO', 'k'))['Capacity']);
say('items', $db->rawCommand('BF.INFO', 'k', 'ITEMS')[0]);
say('estimated', fields($db->rawCommand('BF.INFO', 'k', 'FULL'))['Estimated items']);

$db->rawCommand('BF.RESERVE', 'big', 0.000001, 1000);
$db->rawCommand('BF.MADD', 'big', ...range(0, 999));
for ($iterator = 0;;) {
    [$iterator, $chunk] = $db->rawCommand('BF.SCANDUMP', 'big', $iterator);
    if ($iterator == 0) {
        break;
    }
    $loaded = $db->rawCommand('BF.LOADCHUNK', 'copy', $iterator, $chunk);
}
say('copy', $loaded, ...$db->rawCommand('BF.MEXISTS', 'copy', 0, 999, 'z'));

$binary = "\x00\xff\n";
say('binary', $db->rawCommand('BF.ADD', 'k', $binary), ...$db->rawCommand('BF.MEXISTS', 'k', $binary, "\x00\xff"));
say('bits', bin2hex($db->rawCommand('BF.PACKADD', 'p', 'FIXED', 1, 'abcdefgh', 'BITS')));
$window = $db->rawCommand('BF.RESERVE', 'w', 0.01, 100, 'WINDOW', 60);
say('window', $window, $db->rawCommand('BF.ADD', 'w', 'a'), $db->rawCommand('BF.ADD', 'w', 'a'));

$db->rawCommand('BF.RESERVE', 'n', 0.01, 2, 'NONSCALING');
// The refused item is false in the array, and getLastError says why.
$replies = $db->rawCommand('BF.MADD', 'n', 'a', 'b', 'c');
if ($replies[2] === false) {
    say('mind', 'an-error-is-false');
}
say('full', ...$db->rawCommand('BF.MEXISTS', 'n', 'a', 'b', 'c'));

$reserved = $db->rawCommand('CF.RESERVE', 'c', 100);
$added = [$db->rawCommand('CF.ADD', 'c', 'a'), $db->rawCommand('CF.ADD', 'c', 'a')];
$count = $db->rawCommand('CF.COUNT', 'c', 'a');
say('counting', $reserved, ...$added, ...[$count, $db->rawCommand('CF.DEL', 'c', 'a'), $db->rawCommand('CF.COUNT', 'c', 'a')]);
say('deleted', fields($db->rawCommand('CF.INFO', 'c'))['Number of items deleted']);

$db->clearLastError();
if ($db->rawCommand('BF.RESERVE', 'k', 0.01, 1000) === false) {
    say('error', preg_replace('/^ERR /', '', $db->getLastError()));
}

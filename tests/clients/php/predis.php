<?php
// Predis, in PHP alone. Its helpers came with 2.0; raw commands work in all. Argument: PORT.

require file_exists('/usr/share/php/Predis/autoload.php') ? 'Predis/autoload.php' : 'Predis/Autoloader.php';
if (!class_exists('Predis\Client')) {
    Predis\Autoloader::register();
}
$db = new Predis\Client(['host' => '127.0.0.1', 'port' => (int) $argv[1]]);

function call(...$words) {
    global $db;
    return $db->executeRaw(array_map('strval', $words));
}
function say($name, ...$values) {
    echo "$name: ", implode(' ', $values), "\n";
}
// Names and values take turns; a name is an object that converts to a string.
function fields($reply) {
    $fields = [];
    foreach (array_chunk($reply, 2) as [$name, $value]) {
        $fields[(string) $name] = $value;
    }
    return $fields;
}

say('version', Predis\Client::VERSION);
say('reserve', call('BF.RESERVE', 'k', 0.01, 1000));
say('add', call('BF.ADD', 'k', 'a'), call('BF.ADD', 'k', 'a'));
say('madd', ...call('BF.MADD', 'k', 'a', 'b', 'c'));
say('exists', call('BF.EXISTS', 'k', 'a'), call('BF.EXISTS', 'k', 'z'));
say('mexists', ...call('BF.MEXISTS', 'k', 'a', 'z'));
say('insert', ...call('BF.INSERT', 'i', 'CAPACITY', 1000, 'ERROR', 0.01, 'ITEMS', 'x', 'y'));
say('card', call('BF.CARD', 'k'));
if (call('BF.INFO', 'k')[0] instanceof Predis\Response\Status) {
    say('mind', 'a-name-is-an-object');
}
say('capacity', fields(call('BF.INFO', 'k'))['Capacity']);
say('items', call('BF.INFO', 'k', 'ITEMS')[0]);
say('estimated', fields(call('BF.INFO', 'k', 'FULL'))['Estimated items']);

call('BF.RESERVE', 'big', 0.000001, 1000);
call('BF.MADD', 'big', ...range(0, 999));
for ($iterator = 0;;) {
    [$iterator, $chunk] = call('BF.SCANDUMP', 'big', $iterator);
    if ($iterator == 0) {
        break;
    }
    $loaded = call('BF.LOADCHUNK', 'copy', $iterator, $chunk);
}
say('copy', $loaded, ...call('BF.MEXISTS', 'copy', 0, 999, 'z'));

$binary = "\x00\xff\n";
say('binary', call('BF.ADD', 'k', $binary), ...call('BF.MEXISTS', 'k', $binary, "\x00\xff"));
say('bits', bin2hex(call('BF.PACKADD', 'p', 'FIXED', 1, 'abcdefgh', 'BITS')));
say('window', call('BF.RESERVE', 'w', 0.01, 100, 'WINDOW', 60), call('BF.ADD', 'w', 'a'), call('BF.ADD', 'w', 'a'));

call('BF.RESERVE', 'n', 0.01, 2, 'NONSCALING');
$refused = call('BF.MADD', 'n', 'a', 'b', 'c')[2];
assert($refused instanceof Predis\Response\ErrorInterface);
say('full', ...call('BF.MEXISTS', 'n', 'a', 'b', 'c'));

$counting = [call('CF.RESERVE', 'c', 100), call('CF.ADD', 'c', 'a'), call('CF.ADD', 'c', 'a'), call('CF.COUNT', 'c', 'a')];
say('counting', ...$counting, ...[call('CF.DEL', 'c', 'a'), call('CF.COUNT', 'c', 'a')]);
say('deleted', fields(call('CF.INFO', 'c'))['Number of items deleted']);
// A raw command returns the error's text.
$error = call('BF.RESERVE', 'k', 0.01, 1000);
say('error', preg_replace('/^ERR /', '', $error));

// The helpers do the same.
if (version_compare(Predis\Client::VERSION, '2.0', '>=')) {
    $db->bfreserve('h', 0.01, 1000);
    $found = [$db->bfadd('h', 'a'), ...$db->bfmadd('h', 'a', 'b'), ...$db->bfmexists('h', 'b', 'z'), $db->bfexists('h', 'a')];
    $info = $db->bfinfo('h');
    [$iterator, $chunk] = $db->bfscandump('h', 0);
    $db->bfloadchunk('h-copy', $iterator, $chunk);
    $found = [...$found, $db->bfexists('h-copy', 'b'), $info['Number of items inserted']];
    $db->cfreserve('hc', 1000);
    $found = [...$found, $db->cfadd('hc', 'a'), $db->cfcount('hc', 'a'), $db->cfdel('hc', 'a'), $db->cfcount('hc', 'a')];
    if ($found !== [1, 0, 1, 1, 0, 1, 1, 2, 1, 1, 1, 0]) {
        throw new Exception(json_encode($found));
    }
}

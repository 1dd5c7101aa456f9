# Redis, and Redis::Fast, which is used alike. Neither has helpers. Arguments: PORT CLASS.

use strict;
use warnings;

my ($port, $class) = @ARGV;
eval "require $class; 1" or die $@;
my $db = $class->new(server => "127.0.0.1:$port", encoding => undef);

# Any command is a method; a name with a dot must be a string.
sub call { my ($name, @words) = @_; return $db->$name(@words); }
sub show { my ($name, @values) = @_; print "$name: @values\n"; }

show('version', $class->VERSION);
show('reserve', call('BF.RESERVE', 'k', 0.01, 1000));
show('add', call('BF.ADD', 'k', 'a'), call('BF.ADD', 'k', 'a'));
show('madd', call('BF.MADD', 'k', 'a', 'b', 'c'));
show('exists', call('BF.EXISTS', 'k', 'a'), call('BF.EXISTS', 'k', 'z'));
show('mexists', call('BF.MEXISTS', 'k', 'a', 'z'));
show('insert', call('BF.INSERT', 'i', 'CAPACITY', 1000, 'ERROR', 0.01, 'ITEMS', 'x', 'y'));
show('card', call('BF.CARD', 'k'));

# In list context a reply is a hash of names and values.
my %info = call('BF.INFO', 'k');
show('capacity', $info{'Capacity'});
show('items', call('BF.INFO', 'k', 'ITEMS'));
my %full = call('BF.INFO', 'k', 'FULL');
show('estimated', $full{'Estimated items'});

call('BF.RESERVE', 'big', 0.000001, 1000);
call('BF.MADD', 'big', 0 .. 999);
my ($iterator, $chunk, $loaded) = (0);
while (1) {
    ($iterator, $chunk) = call('BF.SCANDUMP', 'big', $iterator);
    last if $iterator == 0;
    $loaded = call('BF.LOADCHUNK', 'copy', $iterator, $chunk);
}
show('copy', $loaded, call('BF.MEXISTS', 'copy', 0, 999, 'z'));

my $binary = "\x00\xff\n";
show('binary', call('BF.ADD', 'k', $binary), call('BF.MEXISTS', 'k', $binary, "\x00\xff"));
show('bits', unpack('H*', scalar call('BF.PACKADD', 'p', 'FIXED', 1, 'abcdefgh', 'BITS')));
show('window', call('BF.RESERVE', 'w', 0.01, 100, 'WINDOW', 60), call('BF.ADD', 'w', 'a'), call('BF.ADD', 'w', 'a'));

call('BF.RESERVE', 'n', 0.01, 2, 'NONSCALING');
eval { call('BF.MADD', 'n', 'a', 'b', 'c'); 1 } or show('mind', 'an-error-among-the-replies');
show('full', call('BF.MEXISTS', 'n', 'a', 'b', 'c'));

my @counts = (call('CF.RESERVE', 'c', 100), call('CF.ADD', 'c', 'a'), call('CF.ADD', 'c', 'a'), call('CF.COUNT', 'c', 'a'));
show('counting', @counts, call('CF.DEL', 'c', 'a'), call('CF.COUNT', 'c', 'a'));
my %counting = call('CF.INFO', 'c');
show('deleted', $counting{'Number of items deleted'});
eval { call('BF.RESERVE', 'k', 0.01, 1000) };
show('error', $@ =~ /ERR (.*?),/);

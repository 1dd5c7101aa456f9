# redis-rb. It has no helpers for these commands. Argument: PORT.

require 'redis'

DB = Redis.new(port: ARGV[0].to_i)

def call(*words)
  DB.call(*words)
end

def say(name, *values)
  puts "#{name}: #{values.join(' ')}"
end

say 'version', Redis::VERSION
say 'reserve', call('BF.RESERVE', 'k', 0.01, 1000)
say 'add', call('BF.ADD', 'k', 'a'), call('BF.ADD', 'k', 'a')
say 'madd', *call('BF.MADD', 'k', 'a', 'b', 'c')
say 'exists', call('BF.EXISTS', 'k', 'a'), call('BF.EXISTS', 'k', 'z')
say 'mexists', *call('BF.MEXISTS', 'k', 'a', 'z')
say 'insert', *call('BF.INSERT', 'i', 'CAPACITY', 1000, 'ERROR', 0.01, 'ITEMS', 'x', 'y')
say 'card', call('BF.CARD', 'k')

# Names and values take turns.
say 'capacity', Hash[*call('BF.INFO', 'k')]['Capacity']
say 'items', *call('BF.INFO', 'k', 'ITEMS')
full = call('BF.INFO', 'k', 'FULL')
say 'estimated', full[full.index('Estimated items') + 1]

call('BF.RESERVE', 'big', 0.000001, 1000)
call('BF.MADD', 'big', *(0..999))
iterator, loaded = 0, nil
loop do
  iterator, chunk = call('BF.SCANDUMP', 'big', iterator)
  break if iterator == 0

  loaded = call('BF.LOADCHUNK', 'copy', iterator, chunk)
end
say 'copy', loaded, *call('BF.MEXISTS', 'copy', 0, 999, 'z')

binary = "\x00\xff\n".b
say 'binary', call('BF.ADD', 'k', binary), *call('BF.MEXISTS', 'k', binary, binary[0, 2])
say 'bits', call('BF.PACKADD', 'p', 'FIXED', 1, 'abcdefgh', 'BITS').unpack1('H*')
say 'window', call('BF.RESERVE', 'w', 0.01, 100, 'WINDOW', 60), call('BF.ADD', 'w', 'a'), call('BF.ADD', 'w', 'a')

call('BF.RESERVE', 'n', 0.01, 2, 'NONSCALING')
begin
  refused = call('BF.MADD', 'n', 'a', 'b', 'c')[2]
  raise "not an error: #{refused}" unless refused.is_a?(StandardError)
rescue Redis::CommandError
  say 'mind', 'an-error-among-the-replies'
end
say 'full', *call('BF.MEXISTS', 'n', 'a', 'b', 'c')

counts = [call('CF.RESERVE', 'c', 100), call('CF.ADD', 'c', 'a'), call('CF.ADD', 'c', 'a'), call('CF.COUNT', 'c', 'a')]
say 'counting', *counts, call('CF.DEL', 'c', 'a'), call('CF.COUNT', 'c', 'a')
say 'deleted', Hash[*call('CF.INFO', 'c')]['Number of items deleted']
begin
  call('BF.RESERVE', 'k', 0.01, 1000)
rescue Redis::CommandError => e
  say 'error', e.message[/\AERR (.*?)( \(.*)?\z/, 1]
end

-- lua-redis. A command that it does not know is declared first. Argument: PORT.

local redis = require 'redis'

for _, name in ipairs { 'BF.RESERVE', 'BF.ADD', 'BF.MADD', 'BF.INSERT', 'BF.EXISTS', 'BF.MEXISTS', 'BF.CARD', 'BF.INFO',
    'BF.SCANDUMP', 'BF.LOADCHUNK', 'BF.PACKADD', 'CF.RESERVE', 'CF.ADD', 'CF.COUNT', 'CF.DEL', 'CF.INFO' } do
    redis.commands[name] = redis.command(name)
end
local db = redis.connect('127.0.0.1', tonumber(arg[1]))

local function call(name, ...) return db[name](db, ...) end

local function say(name, ...)
    local words = {}
    for _, value in ipairs { ... } do
        if type(value) == 'table' then
            for _, element in ipairs(value) do words[#words + 1] = tostring(element) end
        else
            -- The library returns true for the status OK.
            words[#words + 1] = value == true and 'OK' or tostring(value)
        end
    end
    print(name .. ': ' .. table.concat(words, ' '))
end

-- Names and values take turns.
local function field(reply, name)
    for i = 1, #reply, 2 do
        if reply[i] == name then return reply[i + 1] end
    end
end

say('version', redis._VERSION:match('[%d.]+'))
say('reserve', call('BF.RESERVE', 'k', 0.01, 1000))
say('add', call('BF.ADD', 'k', 'a'), call('BF.ADD', 'k', 'a'))
say('madd', call('BF.MADD', 'k', 'a', 'b', 'c'))
say('exists', call('BF.EXISTS', 'k', 'a'), call('BF.EXISTS', 'k', 'z'))
say('mexists', call('BF.MEXISTS', 'k', 'a', 'z'))
say('insert', call('BF.INSERT', 'i', 'CAPACITY', 1000, 'ERROR', 0.01, 'ITEMS', 'x', 'y'))
say('card', call('BF.CARD', 'k'))
say('capacity', field(call('BF.INFO', 'k'), 'Capacity'))
say('items', call('BF.INFO', 'k', 'ITEMS'))
say('estimated', field(call('BF.INFO', 'k', 'FULL'), 'Estimated items'))

call('BF.RESERVE', 'big', 0.000001, 1000)
local items = {}
for i = 0, 999 do items[#items + 1] = i end
call('BF.MADD', 'big', unpack(items))
local iterator, loaded = 0, nil
while true do
    -- An iterator has up to 16 digits, which tostring would round.
    local reply = call('BF.SCANDUMP', 'big', string.format('%.0f', iterator))
    iterator = reply[1]
    if iterator == 0 then break end
    loaded = call('BF.LOADCHUNK', 'copy', string.format('%.0f', iterator), reply[2])
end
say('copy', loaded, call('BF.MEXISTS', 'copy', 0, 999, 'z'))

local binary = '\0\255\n'
say('binary', call('BF.ADD', 'k', binary), call('BF.MEXISTS', 'k', binary, '\0\255'))
local bits = call('BF.PACKADD', 'p', 'FIXED', 1, 'abcdefgh', 'BITS')
say('bits', (bits:gsub('.', function(byte) return string.format('%02x', byte:byte()) end)))
say('window', call('BF.RESERVE', 'w', 0.01, 100, 'WINDOW', 60), call('BF.ADD', 'w', 'a'), call('BF.ADD', 'w', 'a'))

call('BF.RESERVE', 'n', 0.01, 2, 'NONSCALING')
if not pcall(call, 'BF.MADD', 'n', 'a', 'b', 'c') then say('mind', 'an-error-among-the-replies') end
say('full', call('BF.MEXISTS', 'n', 'a', 'b', 'c'))

local reserved = call('CF.RESERVE', 'c', 100)
local added = { call('CF.ADD', 'c', 'a'), call('CF.ADD', 'c', 'a') }
local count = call('CF.COUNT', 'c', 'a')
say('counting', reserved, added, count, call('CF.DEL', 'c', 'a'), call('CF.COUNT', 'c', 'a'))
say('deleted', field(call('CF.INFO', 'c'), 'Number of items deleted'))
local _, message = pcall(call, 'BF.RESERVE', 'k', 0.01, 1000)
say('error', message:match('ERR (.*)'))

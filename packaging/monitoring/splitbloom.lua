-- What Prometheus is to know of splitbloom, for redis_exporter:
--
--     redis_exporter --script /usr/share/doc/splitbloom/examples/monitoring/splitbloom.lua
--
-- The exporter shows each value as redis_script_values{key="NAME"}:
--
--   * every number of INFO bf by its name: bf_lookups, bf_bytes_held, …; and of INFO sketch, if
--     that module is loaded: sketch_sketches, sketch_bytes_held, …
--   * of each filter whose key is in the set splitbloom:watched
--       bf_filter_present:KEY               1, or 0 if there is no filter of that key
--       bf_filter_items:KEY                 items inserted
--       bf_filter_bytes:KEY                 memory
--       bf_filter_fullness:KEY              items / capacity; only of filters that do not grow
--       bf_filter_false_positive_rate:KEY   the current rate
--       bf_filter_error_rate_used:KEY       that rate / the rate asked for
--
-- It only reads. A user for it needs +eval +info +smembers +type +bf.info +cf.info, and %R~ for the
-- set and the filters. In a cluster, each node reports the watched keys of its own slots; the set
-- itself is on one node.

local values = {}
local function export(name, value)
    if tonumber(value) then
        values[#values + 1] = name
        values[#values + 1] = tostring(value)
    end
end

for _, section in ipairs({'bf', 'sketch'}) do
    for name, value in string.gmatch(redis.call('INFO', section), '([%w_]+):([^\r\n]*)') do
        export(name, value)
    end
end

local COMMAND_FOR = {
    ['MBbloom--'] = 'BF.INFO',
    ['MBbloomCF'] = 'CF.INFO',
    ['bloomfltr'] = 'BF.INFO', -- filters that came from valkey-bloom
}

-- The fields of a filter by name; none if the server refuses.
local function fields_of(command, key)
    local reply, fields = redis.pcall(command, key, 'FULL'), {}
    for place = 1, #reply, 2 do
        local name = reply[place]
        fields[type(name) == 'table' and name.ok or name] = reply[place + 1]
    end
    return fields
end

local watched = redis.pcall('SMEMBERS', 'splitbloom:watched')
for _, key in ipairs(watched) do
    local kind = redis.pcall('TYPE', key)
    local command = COMMAND_FOR[kind.ok]
    if kind.ok then
        export('bf_filter_present:' .. key, command and 1 or 0)
    end
    if command then
        local fields = fields_of(command, key)
        local items, rate = fields['Number of items inserted'], fields['Expected false positive rate']
        export('bf_filter_items:' .. key, items)
        export('bf_filter_bytes:' .. key, fields['Size'])
        export('bf_filter_false_positive_rate:' .. key, rate)
        if tonumber(rate) and tonumber(fields['Error rate']) then
            export('bf_filter_error_rate_used:' .. key, tonumber(rate) / tonumber(fields['Error rate']))
        end
        -- Filters that do not grow: of BF without an expansion rate, of CF with 0.
        local expansion, capacity = fields['Expansion rate'], fields['Capacity']
        if items and capacity and (not expansion or expansion == 0) then
            export('bf_filter_fullness:' .. key, items / capacity)
        end
    end
end

return values

-- Stores an entry unless one with a higher version is there (Uber's compare-and-set).
-- KEYS 1 entry        ARGV 1 version (8 bytes, big-endian), 2 entry that carries it, 3 its ttl in ms
-- Replies 1 stored · 0 a newer one is stored
-- Cost O(1). Safe to repeat. Compares 32-bit halves, because a Lua number is exact only to 2^53, and strings compare by locale.
local header = redis.pcall('GETRANGE', KEYS[1], 0, 55)
if type(header) == 'table' then -- another program has stored another type under this key: it is replaced
  if not string.find(header.err, 'WRONGTYPE', 1, true) then return header end
  header = ''
end
local newer = false
if #header == 56 and math.floor(string.byte(header, 2) / 64) % 2 == 1 then
  local high, low = struct.unpack('>I4I4', header, 49)
  local new_high, new_low = struct.unpack('>I4I4', ARGV[1])
  newer = high > new_high or (high == new_high and low > new_low) -- guard: version_protocol_compare
end
if newer then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1

-- Grants the key's only token to a caller that found no value (Facebook's lease-get).
-- KEYS 1 entry        ARGV 1 entry without a value that carries the token, 2 its ttl in ms, 3 the token (8 bytes)
-- Replies {-1, nil} granted (also to a repeat) · {ms, nil} another caller has it for this long · {-1, entry} there is a value
-- Cost O(1) and the size of the value. Safe to repeat with the same token.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then -- another program has stored another type under this key: it is replaced
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false -- guard: foreign_type_grant
end
if held then
  if (string.byte(held, 2) or 0) % 2 == 1 then return { -1, held } end
  if string.sub(held, 9, 16) ~= ARGV[3] then return { redis.call('PTTL', KEYS[1]), false } end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { -1, false }

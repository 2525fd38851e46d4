-- Replaces the token by a value, or removes it (Facebook's lease-set).
-- KEYS 1 entry        ARGV 1 token (8 bytes), 2 entry (empty: remove the token), 3 its ttl in ms
-- Replies 1 done (also to a repeat) · 0 the token is void: deleted, expired, or replaced by another
-- Cost O(1). Safe to repeat: the stored value carries the token as well.
local token = redis.pcall('GETRANGE', KEYS[1], 8, 15) -- rejected if another program has stored another type under this key
if type(token) == 'table' and not string.find(token.err, 'WRONGTYPE', 1, true) then return token end
if token ~= ARGV[1] then return 0 end -- guard: lease_protocol_token
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1

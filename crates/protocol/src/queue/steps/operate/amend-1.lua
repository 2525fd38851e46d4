-- Replaces the body of a dead letter, if it is still the one that the caller has seen.
-- KEYS 1 shard    ARGV 1 id, 2 the codec's flags and 3 its byte (or "") of the new body, 4 the body seen, 5 the new body
-- Replies 0 unknown · 1 changed · 2 another body · 3 not a dead letter · 4 full · 16 + how it ended
-- Cost O(body). A repeat finds the new body and gets the same reply.
local s = shard_of(KEYS[1], ARGV)
local id, key = ARGV[1], s.job .. ARGV[1]
local j, how = open(s, redis.call('GETRANGE', key, '0', HEAD_LAST))
if how then return 16 + how end
local index = nil
if j then index = where(s, id, j) end
if not index then return 0 end
local is_dead = true
is_dead = index == s.dead -- guard: queue_amend_dead
if not is_dead then return 3 end
local size, tail, codec = redis.call('STRLEN', key), select(2, notes_of(s, id, j)), bit.band(j.flags, 192)
local head_last = j.body_at - 2
local is_named = codec == 192
local name = is_named and redis.call('GETRANGE', key, head_last + 1, head_last + 1) or ''
local held = redis.call('GETRANGE', key, head_last + 1 + #name, size - tail - 1)
if size - tail <= head_last + 1 + #name then held = '' end
if held == ARGV[5] and codec == tonumber(ARGV[2]) and name == ARGV[3] then return 1 end
local is_seen = true
is_seen = held == ARGV[4] -- guard: queue_amend_seen
if not is_seen then return 2 end
local notes = tail > 0 and redis.call('GETRANGE', key, size - tail, size - 1) or ''
j.flags = bit.bor(bit.band(j.flags, 63), tonumber(ARGV[2]))
local record = head(j) .. redis.call('GETRANGE', key, 40, head_last) .. ARGV[3] .. ARGV[5] .. notes
if head_last < 40 then record = head(j) .. ARGV[3] .. ARGV[5] .. notes end
if above_limit(s, #record - size) then return 4 end
redis.call('SET', key, record)
note_size(s, #record)
add(s, 'bytes', #record - size)
save(s)
return 1

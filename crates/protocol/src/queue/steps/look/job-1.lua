-- The records, states and scores of some jobs.
-- KEYS 1 shard    ARGV 1 "1" returns records regardless of their size, then ids
-- Replies for each: nothing, unknown; or the record, the index (0-3 waiting by priority, 4 leased, 5 dead, -1 ended), and the score;
-- or only its length, if the reply would become too large: the caller requests it separately
-- Cost O(records), 4 MiB unless ARGV 1 is "1". Writes nothing.
local s = shard_of(KEYS[1], ARGV)
local ALONE_MAX, room = 1048576, ARGV[1] == '1' and FOREVER or 4194304

local function found(id)
  local size = ask('STRLEN', s.job .. id)
  if is_foreign(size) then return false end
  local left = size > room or (size > ALONE_MAX and ARGV[1] ~= '1')
  if left then return size end -- guard: queue_lists_bytes
  local raw = redis.call('GET', s.job .. id)
  room = room - size
  local j, how = open(s, raw)
  if how then return { raw, -1, 0 } end
  local index, score = nil, nil
  if j then index, score = where(s, id, j) end
  if not index then return false end
  return { raw, index == s.dead and 5 or index == s.leased and 4 or j.flags % 4, score }
end

local answers = {}
for at = 2, #ARGV do answers[at - 1] = found(ARGV[at]) end
return answers

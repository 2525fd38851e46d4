-- Removes items that belong to other shards from every index of this one and keeps them until their shard has received them.
-- KEYS 1 shard    ARGV for each: kind (1: 1 job, 2 schedule), id (16)
-- Replies a byte for each: 0 unknown, or belongs here · 1 sent · 2 leased: not yet
-- Cost O(log n) each. A repeat finds nothing.
local s = shard_of(KEYS[1], ARGV)
local COMPLETION, answers = 9, {}
check_leaving(s, ARGV) -- guard: queue_types_checked

local function give_schedule(keeper, id)
  local last = tonumber(redis.call('HGET', s.tag .. ':schedules', id) or '')
  return last and redis.call('HDEL', s.tag .. ':schedules', id) and send(s, keeper, 2, id, 0, last) or 0
end

local function give_job(keeper, id)
  local j, how = open(s, head_of(s, id))
  local index, score = nil, 0
  if j then index, score = where(s, id, j) end
  if not how and not index then return 0 end
  if index == s.leased then return 2 end -- guard: queue_send_leased
  if index then
    redis.call('ZREM', index, id)
    add(s, 'bytes', -redis.call('STRLEN', s.job .. id))
  end
  redis.call('SETRANGE', s.job .. id, 0, string.char(j and 3 or 4)) -- no step reads it any more
  return send(s, keeper, 1, id, j and (index == s.dead and 5 or j.flags % 4) or COMPLETION, j and score or 0)
end

for at, item in ipairs(ARGV) do
  local kind, id = struct.unpack('>Bc16', item)
  local keeper = elsewhere(s, id)
  answers[at] = string.char(keeper and (kind == 1 and give_job or give_schedule)(keeper, id) or 0)
end
save(s)
return table.concat(answers)

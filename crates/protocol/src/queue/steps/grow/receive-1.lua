-- Adds the items that another shard has sent, each once and in order.
-- KEYS 1 shard    ARGV 1 number of the other shard, then for each: sequence, label, record (leaving-1.lua)
-- Replies the last sequence number that was added
-- Cost O(log n) each. A repeat, however late, adds nothing twice.
local s = shard_of(KEYS[1], ARGV)
check_types(s, s.wake, nil, s.tag .. ':schedules') -- guard: queue_types_checked
local field = 'took:' .. ARGV[1]
local last = tonumber(redis.call('HGET', s.meta_key, field) or 0)

local function receive_item(kind, id, place, score, raw)
  if kind == 2 then return redis.call('HSETNX', s.tag .. ':schedules', id, string.format('%.0f', score)) end
  local known, ended = open(s, head_of(s, id))
  if known or ended or raw == '' then return end -- a record that this shard already has takes precedence
  local j, _, _, until_ms = open(s, raw)
  if j then
    redis.call('SET', s.job .. id, raw)
    if place == 5 then redis.call('ZADD', s.dead, text(score), id) else add_waiting(s, place, id, score) end
    add(s, 'bytes', #raw)
    note_size(s, #raw)
  elseif until_ms == 0 then
    redis.call('SET', s.job .. id, raw)
  elseif until_ms then
    redis.call('SET', s.job .. id, raw, 'PX', until_ms - s.now)
  end
end

for at = 2, #ARGV, 3 do
  local sequence, fresh = tonumber(ARGV[at]), true
  if sequence > last + 1 then break end
  fresh = sequence > last -- guard: queue_receive_once
  if fresh then
    local kind, id, place, score = struct.unpack('>Bc16BI6', ARGV[at + 1])
    receive_item(kind, id, place, score, ARGV[at + 2])
    last = math.max(last, sequence)
  end
end
redis.call('HSET', s.meta_key, field, last)
announce(s)
save(s)
return last

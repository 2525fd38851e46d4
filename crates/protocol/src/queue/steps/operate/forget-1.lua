-- Lets the completion records of ids expire: their senders will not send them again.
-- KEYS 1 shard    ARGV 1 remaining retention in ms, then ids
-- Replies a byte for each: 1 known · 0 not
-- Cost O(1) an id. Safe to repeat: an expiry that was set is not changed.
local s = shard_of(KEYS[1], ARGV)
local span = tonumber(ARGV[1])
local answers = {}

local function forget(id)
  local j, how, version, until_ms, ended = open(s, head_of(s, id))
  if until_ms == 0 then
    local value = struct.pack('>BBHc8I6I6', 2, how, 0, version, ended, s.now + span)
    redis.call('SET', s.job .. id, value, 'PX', span)
  end
  if j and j.rule == 3 then
    j.rule = 1 -- its completion record will be kept for its window
    redis.call('SETRANGE', s.job .. id, 0, head(j))
  end
  return (j or how) and 1 or 0
end

for at = 2, #ARGV do answers[at - 1] = string.char(forget(ARGV[at])) end
return table.concat(answers)
